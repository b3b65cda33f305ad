"""The e-mail address of a wallet: changing it, and undoing that."""
