"""The credential of a wallet: its claims, how it is presented and verified, and its state."""
