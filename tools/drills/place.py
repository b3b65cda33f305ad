"""Where drills happen: an installation as in production, on this machine, from its database to nginx."""

import base64
import json
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import psycopg

from tests.pgcluster import Cluster, binaries
from tests.ports import free_port
from tests.programs import nginx
from tests.relying_party import RelyingParty
from tools.benchmarks.servers import MissingProgramError, Work
from tools.drills.instances import Instance, Proxy
from tools.drills.people import Crowd, Person

HOST = "wallet.example"
HOLDERS = 12


class Server(Protocol):
    """A PostgreSQL server, or several of which one accepts writes."""

    url: str


@dataclass
class Place:
    """What a drill starts from: folder, port of nginx, secrets, and a database server.

    The server starts when it is first used.
    """

    folder: Path
    port: int
    bindir: Path  # of PostgreSQL
    variables: dict[str, str] = field(default_factory=dict)

    @cached_property
    def cluster(self) -> Cluster:
        return Cluster(self.bindir, synchronous_commit="on")

    @cached_property
    def facts(self) -> dict[str, Any]:
        """What browsers and the relying party need with the database `template`, which is filled by this."""
        return self.fill(self.cluster, "template")

    @property
    def origin(self) -> str:
        return f"https://{HOST}:{self.port}"

    def environment(self, url: str) -> dict[str, str]:
        return {**self.variables, "DATABASE_URL": url}

    def collect_static(self, url: str) -> None:
        """Collects the static files, if STATE_DIRECTORY does not have them."""
        if not (Path(self.variables["STATE_DIRECTORY"]) / "static" / "staticfiles.json").exists():
            with Work(["manage.py", "collectstatic", "--no-input"], self.environment(url)) as collecting:
                collecting.done()

    def fill(self, cluster: Server, name: str, **changes: str) -> dict[str, Any]:
        """Prepares a database of this name as a sandbox's, and then marks it as production's."""
        with psycopg.connect(cluster.url, autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        url = database(cluster.url, name)
        environment = {**self.environment(url), **changes, "ENVIRONMENT": "sandbox"}
        with Work(["-m", "tools.drills.prepare", str(HOLDERS)], environment) as filling:
            facts: dict[str, Any] = json.loads(filling.done())
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("UPDATE keys_databasemark SET environment = 'production'")
        return facts


@contextmanager
def place() -> Iterator[Place]:
    """A place; everything is removed afterwards. Raises MissingProgramError."""
    bindir = binaries()
    if bindir is None or nginx() is None:
        raise MissingProgramError("Drills need PostgreSQL’s programs and nginx (Debian’s postgresql, nginx).")
    found = Place(Path(tempfile.mkdtemp(prefix="place-")), free_port(), bindir)
    found.variables = _variables(found)
    try:
        yield found
    finally:
        if "cluster" in vars(found):  # it was used
            found.cluster.stop()
        shutil.rmtree(found.folder, ignore_errors=True)


def _variables(place: Place) -> dict[str, str]:
    return {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "ENVIRONMENT": "production",
        "BASE_URL": place.origin,
        "SECRET_KEY": secrets.token_urlsafe(64),
        "KEY_SEALING_KEYS": secrets.token_urlsafe(32),
        "STATE_DIRECTORY": str(place.folder),
        "TRUSTED_PROXY_COUNT": "1",
        "EMAIL_URL": "smtp+tls://127.0.0.1:1",
        "DEFAULT_FROM_EMAIL": "wallet@wallet.example",
        "OPERATOR_NAME": "Example Trust Ltd",
        "OPERATOR_PRIVACY_NOTICE": "https://operator.example/privacy",
        "OPERATOR_HELP": "help@operator.example",
    }


def database(url: str, name: str) -> str:
    """The address of another database of the same server."""
    return url.replace("/postgres?", f"/{name}?")


@dataclass
class Installation:
    """Two instances behind nginx on a database of their own, and the people who come to them."""

    place: Place
    url: str
    facts: Mapping[str, Any]
    instances: list[Instance]
    proxy: Proxy
    environment: dict[str, str]

    def party(self) -> RelyingParty:
        root = base64.b64decode(self.facts["root"])
        return RelyingParty(
            self.facts["client_id"], self.facts["redirect_uri"], self.place.origin, trusted_root=root
        )

    def crowd(self, size: int = 6, *, pause: float = 0.05) -> Crowd:
        """So many signed-in holders, each from an address of their own."""
        people = [
            Person(self.party(), email, cookies, port=self.proxy.port, source=f"127.0.1.{number + 1}")
            for number, (email, cookies) in enumerate(self.facts["holders"][:size])
        ]
        return Crowd(people, pause=pause)

    def command(self, *words: str) -> None:
        """Runs a management command to its end."""
        with Work(["manage.py", *words], self.environment) as work:
            out, err = work.process.communicate(timeout=60)
        if work.process.returncode:
            raise RuntimeError(f"{' '.join(words)}: {out}{err}")


@contextmanager
def installation(
    place: Place,
    *,
    instances: int = 2,
    workers: int = 2,
    url: str = "",
    facts: Mapping[str, Any] | None = None,
    changes: Mapping[str, str] | None = None,
    nginx_logs: Path | None = None,
) -> Iterator[Installation]:
    """An installation that answers. `url` names its database, by default a copy of that of `Place.facts`.

    `facts` are what `Place.fill` said of that database, `changes` are of the environment of the instances.
    nginx writes all logs into the file `nginx_logs`, by default into its folder.
    """
    folder = Path(tempfile.mkdtemp(dir=place.folder))
    with ExitStack() as stack:
        url = url or stack.enter_context(_copy(place))
        environment = {**place.environment(url), **(changes or {})}
        place.collect_static(url)
        running = []
        for number in range(instances):
            instance = Instance(environment, folder / f"instance{number}.log", workers=workers)
            stack.callback(instance.close)
            instance.start()
            running.append(instance)
        for instance in running:
            instance.wait()
        ports = [instance.port for instance in running]
        proxy = stack.enter_context(Proxy(folder / "nginx", place.port, ports, nginx_logs))
        yield Installation(place, url, facts or place.facts, running, proxy, environment)


@contextmanager
def _copy(place: Place) -> Iterator[str]:
    name = f"drill_{secrets.token_hex(4)}"
    _ = place.facts  # the template is filled
    with psycopg.connect(place.cluster.url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE template')
    try:
        yield database(place.cluster.url, name)
    finally:
        with psycopg.connect(place.cluster.url, autocommit=True) as connection:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
