"""Answers as they go home: the token, the address, the redirect, or the body that is posted."""
