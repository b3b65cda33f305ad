"""The pages of a wallet: its start page, its security, and what is kept about people."""
