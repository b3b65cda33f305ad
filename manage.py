#!/usr/bin/env python
"""Django's command line for this service."""

import os
import re
import sys
from pathlib import Path

STATE = Path(__file__).resolve().parent / "var"


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from django.core.exceptions import ImproperlyConfigured

    from config.command_line import CommandLine
    from keys.sandbox_folder import base_url, says_sandbox

    if "ENVIRONMENT" not in os.environ and says_sandbox(STATE, os.environ):
        os.environ["ENVIRONMENT"] = "sandbox"
        if "PORT" not in os.environ and (found := base_url(STATE)):
            os.environ.setdefault("BASE_URL", found)
        sys.stderr.write("ENVIRONMENT is not set; using the sandbox of this folder.\n")
    if any(re.search("[\ud800-\udfff]", argument) for argument in sys.argv):  # octets that are no UTF-8
        sys.exit("An argument is not UTF-8, so no database can hold it.")
    try:
        CommandLine(sys.argv).execute()
    except ImproperlyConfigured as error:
        sys.exit(f"Cannot start: {error}")  # it says what to do; a traceback would only hide it


if __name__ == "__main__":
    main()
