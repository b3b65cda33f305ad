"""What JupyterHub needs to run on any port, without accounts of the machine; then the settings."""

import os
from pathlib import Path

from jupyterhub.spawner import SimpleLocalProcessSpawner

c = get_config()
hub, proxy = os.environ["HUB_PORT"], os.environ["PROXY_PORT"]
c.JupyterHub.hub_port = int(hub)
c.ConfigurableHTTPProxy.api_url = f"http://127.0.0.1:{proxy}"
c.ConfigurableHTTPProxy.command = os.environ["PROXY"]
c.JupyterHub.spawner_class = SimpleLocalProcessSpawner
c.JupyterHub.default_url = "/hub/home"
load_subconfig(str(Path("settings.py").resolve()))
