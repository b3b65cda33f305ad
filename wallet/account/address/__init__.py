"""The e-mail address of a wallet: changing it, undoing that, and who may have it meanwhile."""
