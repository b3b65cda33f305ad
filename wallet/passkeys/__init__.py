"""Passkeys (W3C Web Authentication Level 3): adding them to a wallet, signing in and confirming with them.

`reading` and `names` are pure. `challenges`, `registration` and `assertion` use the database. `options` is
what browsers are asked, `views` signs in, and `own` holds the pages of a signed-in holder.
"""
