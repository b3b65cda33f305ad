"""`python -m tools.drills.alarms`: makes one fault after the other, and measures when the doctor tells it.

Each fault has to be told by its check within its time, and by no other; then it is mended, and the check has
to be well again. `--write` puts the table into docs/faults.md.
"""

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import date
from time import monotonic, sleep
from uuid import uuid4

import psycopg

from tests.pgcluster import Cluster
from tools.benchmarks.sites import ROOT, die_with_parent
from tools.drills.mail import Mail
from tools.drills.place import HOST, Place, database, place
from tools.drills.standby import Standby

LOOK_EVERY = 10.0  # seconds
RUN_TAKES = 30.0  # seconds that a run of the doctor may take on a busy machine
DOCUMENT = ROOT / "docs" / "faults.md"
# It hangs as long as this file stands beside the folder of the data.
ARCHIVES = "while test -e ../archive_hangs; do sleep 1; done"
BEGIN, END = "<!-- written by `python -m tools.drills.alarms --write` -->", "<!-- end of what was told -->"


@dataclass
class Service:
    """A database server with a standby and an archive, a mail server and a worker."""

    server: Cluster
    url: str
    environment: dict[str, str]
    mail: Mail
    worker: "subprocess.Popen[bytes] | None" = None
    standby: Standby | None = None

    def start_worker(self, *jobs: str) -> None:
        words = [sys.executable, "manage.py", "worker", *(["--jobs", *jobs] if jobs else [])]
        self.worker = subprocess.Popen(
            words, cwd=ROOT, env=self.environment, stderr=subprocess.DEVNULL, preexec_fn=die_with_parent
        )

    def stop_worker(self) -> None:
        if self.worker is not None:
            self.worker.kill()
            self.worker.wait()
            self.worker = None

    def manage(self, *words: str) -> str:
        """Runs a command, whatever its status, and gives what it printed."""
        command = [sys.executable, "manage.py", *words]
        done = subprocess.run(command, cwd=ROOT, env=self.environment, capture_output=True, text=True)
        return done.stdout

    def states(self) -> dict[str, str]:
        """What the doctor says now, by check."""
        checks = json.loads(self.manage("doctor", "--json"))["checks"]
        return {each["check"]: each["state"] for each in checks}

    def sql(self, *statements: str) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)

    def setting(self, name: str, value: str | None) -> None:
        change = f"SET {name} = '{value}'" if value is not None else f"RESET {name}"
        self.sql(f"ALTER SYSTEM {change}", "SELECT pg_reload_conf()")


@dataclass(frozen=True)
class Fault:
    """A fault, the check that has to tell it, and within how many seconds, besides a run of the doctor."""

    name: str
    check: str
    state: str
    within: float
    made: Callable[[Service], Iterator[None]]


def no_worker(service: Service) -> Iterator[None]:
    service.stop_worker()
    yield
    service.start_worker()


def no_mail_server(service: Service) -> Iterator[None]:
    service.mail.stop()
    yield
    service.mail.start()


def codes_wait(service: Service) -> Iterator[None]:
    """A worker is there and sends no codes, as one that was started with `--jobs` and without their queue."""
    service.stop_worker()
    service.start_worker("emails", "webhooks")
    put = "from infra.mail import outbox; from infra.mail.queue import Letter; "
    put += "outbox.put(Letter('nora@example.org', 's', 't'), purpose='code', urgent=True)"
    service.manage("shell", "-v0", "-c", put)
    yield
    service.stop_worker()
    service.start_worker()


def lost_standby(service: Service) -> Iterator[None]:
    """Its machine is gone, and Patroni empties synchronous_standby_names, as it does then."""
    assert service.standby
    service.standby.kill()
    service.setting("synchronous_standby_names", "")
    yield
    service.standby.start()


def kept_wal(service: Service) -> Iterator[None]:
    service.sql("SELECT pg_create_physical_replication_slot('forgotten', true)")
    for _ in range(20):  # 16 MB each
        service.sql("CREATE TABLE written (); DROP TABLE written; SELECT pg_switch_wal()")
    yield
    service.sql("SELECT pg_drop_replication_slot('forgotten')")


def hanging_archive(service: Service) -> Iterator[None]:
    hangs = service.server.root / "archive_hangs"
    hangs.touch()
    service.sql("CREATE TABLE written (); DROP TABLE written; SELECT pg_switch_wal()")
    yield
    hangs.unlink()


def removed_line(service: Service) -> Iterator[None]:
    service.sql(
        "ALTER TABLE infra_auditline DISABLE TRIGGER infra_auditline_append_only",
        "DELETE FROM infra_auditline WHERE seq = 2",
    )
    service.manage("sign_audit_record")
    yield


FAULTS = (
    Fault("the worker is killed", "worker", "NOW", 120, no_worker),
    Fault("the mail server is away", "mail", "NOW", 0, no_mail_server),
    Fault("codes are not sent although a worker runs", "urgent_emails", "NOW", 60, codes_wait),
    Fault("the only standby is lost (under Patroni)", "standby", "NOW", 0, lost_standby),
    Fault("320 MB of WAL are kept for a standby that is gone", "replication_lag", "SOON", 0, kept_wal),
    Fault("`archive_command` hangs", "archive", "SOON", 300, hanging_archive),
    Fault(
        "a line of the audit record is removed, and it is verified", "audit_record", "NOW", 0, removed_line
    ),
)


def trial(fault: Fault, service: Service, before: dict[str, str]) -> tuple[float, list[str]]:
    """Seconds until the fault was told, and the other checks that changed. Mends the fault.

    Raises RuntimeError if it is not told in time.
    """
    with contextmanager(fault.made)(service):
        began = monotonic()
        while True:
            states = service.states()
            took = monotonic() - began
            others = [name for name, state in states.items() if state != before[name] and name != fault.check]
            if states[fault.check] == fault.state:
                return took, others
            if took > fault.within + RUN_TAKES + LOOK_EVERY:
                raise RuntimeError(f"{fault.name}: {fault.check} still says {states[fault.check]}")
            sleep(LOOK_EVERY)


def until_well(service: Service, check: str, before: dict[str, str]) -> None:
    for _ in range(60):
        if service.states()[check] == before[check]:
            return
        sleep(LOOK_EVERY)
    raise RuntimeError(f"{check} is not well again")


@contextmanager
def running(where: Place) -> Iterator[Service]:
    """The service, with a standby and everything that the checks need to be well."""
    with ExitStack() as stack:
        tcp = {"listen_addresses": "127.0.0.1"}
        server = Cluster(where.bindir, archive_mode="on", archive_command=ARCHIVES, **tcp)
        stack.callback(server.stop)
        where.fill(server, "service")
        url = database(server.url, "service")
        mail = Mail(where.folder / "mail")
        mail.start()
        stack.callback(mail.stop)
        environment = {**where.environment(url), **mail.environment, "DATABASE_STANDBYS": "1"}
        where.collect_static(url)
        service = Service(server, url, environment, mail)
        service.standby = Standby(where.bindir, server)
        stack.callback(service.standby.stop)
        stack.callback(service.stop_worker)
        service.start_worker()
        backup = where.folder / "dump"
        backup.write_text("a dump")
        service.manage("record_backup", "--file", str(backup))
        for _ in range(3):  # lines for the audit record
            service.manage("retire_signing_key", str(uuid4()), "--reason", "a drill")
        sleep(20)  # the worker's jobs run once
        yield service


def table(rows: list[tuple[Fault, float, list[str]]], before: dict[str, str]) -> str:
    open_before = ", ".join(f"`{name}`" for name, state in before.items() if state != "ok") or "nothing"
    lines = [
        f"Measured on {date.today().isoformat()}, with {LOOK_EVERY:.0f} seconds between looks. Before it the "
        f"doctor told {open_before}, because {HOST} is no real host.",
        "",
        "| fault | told as | its limit | told after | and besides |",
        "|---|---|--:|--:|---|",
    ]
    for fault, seconds, others in rows:
        besides = ", ".join(f"`{name}`" for name in others) or "nothing"
        told = f"`{fault.check}` {fault.state}"
        lines.append(f"| {fault.name} | {told} | {fault.within:.0f} s | {seconds:.0f} s | {besides} |")
    return "\n".join(lines)


def write(text: str) -> None:
    page = DOCUMENT.read_text()
    place_of_it = re.compile(f"{re.escape(BEGIN)}\n.*?{re.escape(END)}", re.DOTALL)
    DOCUMENT.write_text(place_of_it.sub(lambda _: f"{BEGIN}\n{text}\n{END}", page))


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.drills.alarms", description=__doc__, allow_abbrev=False
    )
    parser.add_argument("--write", action="store_true", help="write the table into docs/faults.md")
    chosen = parser.parse_args()
    rows = []
    with place() as where, running(where) as service:
        before = service.states()
        print(before, file=sys.stderr, flush=True)
        for fault in FAULTS:
            seconds, others = trial(fault, service, before)
            print(f"{fault.name}: {seconds:.0f} s, besides: {others}", file=sys.stderr, flush=True)
            rows.append((fault, seconds, others))
            if fault is not FAULTS[-1]:
                until_well(service, fault.check, before)
    text = table(rows, before)
    print(text)
    if chosen.write:
        write(text)
    return 1 if any(others for _fault, _seconds, others in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
