"""A Docker daemon of the test's own, whose images are made of Debian's packages.

A registry cannot be reached from everywhere. So the base of our image, and the images of others that
`compose.yaml` names, are stand-ins: Python, PostgreSQL and nginx of Debian, started as compose.yaml expects.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

import pytest

BASE = "docker.io/library/python:3.11-slim-bookworm"
PACKAGES = "python3,python3-venv,ca-certificates,postgresql,nginx"
# With the variables of the image `postgres` that compose.yaml sets.
POSTGRESQL = f"""
FROM {BASE}
ENV PGDATA=/var/lib/postgresql/data
COPY start /start
CMD ["sh", "-eu", "/start"]
"""
START = """
export PATH="$PATH:$(echo /usr/lib/postgresql/*/bin)"
install -d -o postgres /run/postgresql
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  install -d -o postgres -m 0700 "$PGDATA"
  install -o postgres -m 0600 "$POSTGRES_PASSWORD_FILE" /tmp/password
  setpriv --reuid postgres --regid postgres --clear-groups \\
    initdb --username "$POSTGRES_USER" --pwfile /tmp/password --auth-host scram-sha-256 --encoding UTF8
  echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
  echo "CREATE DATABASE $POSTGRES_USER" | setpriv --reuid postgres --regid postgres --clear-groups \\
    postgres --single -D "$PGDATA" postgres
fi
exec setpriv --reuid postgres --regid postgres --clear-groups postgres -D "$PGDATA" -c listen_addresses='*'
"""
NGINX = f"""
FROM {BASE}
RUN rm -f /etc/nginx/sites-enabled/*
CMD ["nginx", "-g", "daemon off;"]
"""


def installed() -> bool:
    """Whether there are Debian's docker.io, docker-compose and mmdebstrap, and the rights to use them."""
    return os.geteuid() == 0 and all(map(shutil.which, ("dockerd", "docker-compose", "mmdebstrap")))


@contextmanager
def docker() -> Iterator[dict[str, str]]:
    """Starts a daemon that has the stand-ins; gives the environment in which `docker` uses it."""
    folder = Path(tempfile.mkdtemp(prefix="docker-", dir="/tmp"))  # short: a socket path has 107 bytes
    address = f"unix://{folder}/socket"
    words = ["dockerd", "--host", address, "--data-root", f"{folder}/data", "--exec-root", f"{folder}/exec"]
    words += ["--pidfile", f"{folder}/pid", "--log-level", "warn"]
    # The packet filter of this machine stays as it is. So containers reach each other and nothing outside.
    words += ["--iptables=false", "--ip6tables=false", "--bridge=none"]
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "DOCKER_HOST": address}
    with (folder / "log").open("w") as log:
        daemon = subprocess.Popen(words, stdout=log, stderr=log)
    try:
        until = monotonic() + 60
        while subprocess.run(["docker", "version"], env=environment, capture_output=True).returncode:
            if daemon.poll() is not None or monotonic() > until:  # not every machine lets it make networks
                pytest.skip(f"Docker does not run here: {(folder / 'log').read_text()[-300:]}")
            sleep(0.2)
        _make_images(folder, environment)
        yield environment
    finally:
        daemon.terminate()
        daemon.wait(60)
        shutil.rmtree(folder, ignore_errors=True)


def run(environment: dict[str, str], *words: str, folder: Path | None = None, stdin: str = "") -> str:
    """What a command prints; fails the test when the command fails."""
    done = subprocess.run(words, cwd=folder, env=environment, input=stdin, capture_output=True, text=True)
    assert done.returncode == 0, f"{words}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def _make_images(folder: Path, environment: dict[str, str]) -> None:
    """Makes the base and the stand-ins. In them pip trusts the same authorities as on this machine."""
    hooks = [
        f"--customize-hook=copy-in {path} {Path(path).parent}"
        for path in ("/etc/ssl/certs/ca-certificates.crt", "/etc/pip.conf")
        if Path(path).exists()
    ]
    archive = str(folder / "base.tar")
    make = ["mmdebstrap", "--variant=minbase", f"--include={PACKAGES}", *hooks, "bookworm", archive]
    run(dict(os.environ), *make)
    run(environment, "docker", "import", archive, BASE)
    os.unlink(archive)
    context = folder / "images"
    context.mkdir()
    (context / "start").write_text(START)
    for name, text in (("postgres:15.19", POSTGRESQL), ("nginx:1.30.5", NGINX)):
        (context / "Dockerfile").write_text(text)
        build = ["docker", "build", "--network", "host", "--tag", f"docker.io/library/{name}", str(context)]
        run(environment, *build)
