"""A real PgBouncer in front of a temporary PostgreSQL, with a few server connections for all its clients."""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator

import psycopg

from tests.pgcluster import Cluster

SETTINGS = """
[databases]
* = host={root}
[pgbouncer]
pool_mode = {mode}
listen_addr =
listen_port = 6432
unix_socket_dir = {root}
unix_socket_mode = 0777
auth_type = trust
auth_file = {root}/pgbouncer.users
stats_users = postgres
default_pool_size = {size}
max_client_conn = 100
ignore_startup_parameters = extra_float_digits{ignored}
server_login_retry = 1
query_wait_timeout = 10
server_connect_timeout = 3
logfile = {root}/pgbouncer.log
pidfile = {root}/pgbouncer.pid
"""


def program() -> str | None:
    """Debian installs it in a directory that only root has in PATH."""
    return shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")


@contextlib.contextmanager
def pgbouncer(
    cluster: Cluster, *, mode: str = "transaction", ignored: str = "", size: int = 2
) -> Iterator[str]:
    """The URL of the cluster's database `postgres` through PgBouncer. ignored: startup parameters."""
    root, settings = cluster.root, cluster.root / "pgbouncer.ini"
    ignored = f",{ignored}" if ignored else ""
    settings.write_text(SETTINGS.format(root=root, mode=mode, ignored=ignored, size=size))
    (root / "pgbouncer.users").write_text('"postgres" ""\n')
    for path in (settings, root / "pgbouncer.users"):
        path.chmod(0o644)
    process = subprocess.Popen(
        [str(program()), str(settings)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **cluster.as_owner(),
    )
    url = f"{cluster.url}&port=6432"
    try:
        _wait(url, process, root / "pgbouncer.log")
        yield url
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def _wait(url: str, process: subprocess.Popen[bytes], log: os.PathLike[str]) -> None:
    for _ in range(1200):
        with contextlib.suppress(psycopg.OperationalError):
            psycopg.connect(url).close()
            return
        if process.poll() is not None:
            break
        time.sleep(0.05)
    with open(log) as lines:
        raise RuntimeError(f"PgBouncer did not start:\n{lines.read()}")
