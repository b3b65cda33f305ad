"""The account of a holder: how they sign in, which browsers are signed in, their address, and its end."""
