"""The e-mails that holders get."""
