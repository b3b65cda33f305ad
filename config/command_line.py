"""Django's command line, in which every option has to be written in full."""

from functools import partial

from django.core.management import ManagementUtility
from django.core.management.base import BaseCommand


class CommandLine(ManagementUtility):
    """Runs a command of this service or of Django.

    argparse accepts the beginning of an option, so `--for` would mean `--force-color` where a command has no
    `--for`, and a new option would change what old scripts mean.
    """

    def fetch_command(self, subcommand: str) -> BaseCommand:
        """The command of this name, whose parser refuses abbreviated options; exits if there is none."""
        command = super().fetch_command(subcommand)
        vars(command)["create_parser"] = partial(command.create_parser, allow_abbrev=False)
        return command
