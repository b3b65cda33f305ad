"""Recovery after a lost mailbox: a wallet moves to a new address, unless somebody stops that in time."""
