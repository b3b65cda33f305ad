"""Writes what Synapse needs to run on any port, to which the settings are added."""

import json
import os
from pathlib import Path

here = Path.cwd()
listener = {
    "port": int(os.environ["PORT"]),
    "bind_addresses": ["127.0.0.1"],
    "type": "http",
    "tls": False,
    "resources": [{"names": ["client"]}],
}
configuration = {  # YAML is a superset of JSON
    "server_name": "localhost",
    "pid_file": str(here / "pid"),
    "listeners": [listener],
    "database": {"name": "sqlite3", "args": {"database": str(here / "synapse.sqlite3")}},
    "media_store_path": str(here / "media"),
    "signing_key_path": str(here / "signing.key"),
    "macaroon_secret_key": "m" * 32,
    "form_secret": "f" * 32,
    "trusted_key_servers": [],
    "report_stats": False,
    "sso": {"client_whitelist": [f"{os.environ['URL']}/_matrix/static/"]},
}
(here / "synapse.yaml").write_text(json.dumps(configuration))
