"""E-mails: `outbox` takes them in requests, and `manage.py send_emails` sends them in its own process."""
