"""What pgAdmin needs to run as a server on any port, without a mail server; then the settings."""

import os
from pathlib import Path

SERVER_MODE = True
DATA_DIR = str(Path.cwd() / "data")
DEFAULT_SERVER = "127.0.0.1"
DEFAULT_SERVER_PORT = int(os.environ["PORT"])
UPGRADE_CHECK_ENABLED = False
MASTER_PASSWORD_REQUIRED = False
from settings import *  # noqa: E402 - pgAdmin reads what the last line of this module leaves
