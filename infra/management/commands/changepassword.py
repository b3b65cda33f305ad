"""`manage.py changepassword`: Django's command, with a line in the audit record."""

from django.contrib.auth.management.commands import changepassword

from infra.audit.commands import RecordedCommand


class Command(RecordedCommand, changepassword.Command):
    pass
