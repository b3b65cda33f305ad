"""`manage.py createsuperuser`: Django's command, with a line in the audit record."""

from django.contrib.auth.management.commands import createsuperuser

from infra.audit.commands import RecordedCommand


class Command(RecordedCommand, createsuperuser.Command):
    pass
