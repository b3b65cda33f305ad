"""Passkeys (W3C Web Authentication Level 3): adding them to a wallet, signing in and confirming with them.

`reading` is pure. `registration` and `assertion` use the database. `options` is what browsers are asked. In
`views`, `sign_in` signs in, and `own` holds the pages of a signed-in holder.
"""
