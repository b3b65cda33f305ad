"""The pages that sign in with a passkey, and those on which holders change their own."""
