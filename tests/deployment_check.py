"""`manage.py check --deploy` under production settings, as a machine in production would be set up."""

import base64
import os
import secrets
import subprocess
import sys
from pathlib import Path


def production_environment() -> dict[str, str]:
    """Every variable production asks for, with throw-away secrets."""
    secret = base64.urlsafe_b64encode(secrets.token_bytes(64)).decode()
    return {
        "PATH": os.environ["PATH"],
        "ENVIRONMENT": "production",
        "BASE_URL": "https://wallet.example",
        "SECRET_KEY": secret,
        "KEY_SEALING_KEYS": secret[:44],
        "DATABASE_URL": "postgresql://wallet@127.0.0.1:1/wallet",
        "EMAIL_URL": "smtp+tls://127.0.0.1:1",
        "DEFAULT_FROM_EMAIL": "Wallet <wallet@wallet.example>",
        "OPERATOR_NAME": "Example Trust Ltd",
        "OPERATOR_PRIVACY_NOTICE": "https://operator.example/privacy",
        "OPERATOR_HELP": "help@operator.example",
    }


if __name__ == "__main__":
    root = Path(__file__).resolve().parent.parent
    command = [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"]
    sys.exit(subprocess.run(command, cwd=root, env=production_environment()).returncode)
