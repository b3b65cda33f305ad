"""E-mails: `outbox` takes them in requests, and `manage.py worker` sends them in its own process."""
