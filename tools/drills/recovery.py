"""The drill in which a machine is lost with everything on it, and restored to a moment.

Only what docs/operate.md says to keep is left. The commands of its section about a restore are run as they
stand.
"""

import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import psycopg

from tests.colleagues import operators_with_codes
from tests.pgbackrest import Repository, Restored, accept_the_gap, after_a_restore
from tests.pgcluster import Cluster, short_folder
from tests.programs import pgbackrest
from tests.relying_party import RejectedError, read_jwt, status_reference
from tools.benchmarks.servers import MissingProgramError
from tools.drills.commands import WHY, attempt, close_now, fails, manage, stage, value
from tools.drills.drill import document, step, under_load
from tools.drills.mail import Mail, SigningIn, sender
from tools.drills.patroni import until
from tools.drills.people import Flow, Outcome, Person
from tools.drills.place import HOST, Installation, Place, database, installation
from tools.drills.reckoning import digest, recorded
from tools.drills.results import Result

AFTER = 20  # answers after the last WAL that is archived, before the machine is lost
MOST_LOST = 60.0 + 15.0  # archive_timeout, and what a busy machine takes to archive
PUBLISHED = 40.0  # seconds until every instance of a busy machine publishes a change
LOOKS = 12  # as many in a row show that each of the four workers publishes it
LOAD = 3  # holders who present all the time
REVOKED, REVOKED_LATER, TAKEN_BACK, SUSPENDED, CLOSED, LATE = range(6, 12)  # the holders to whom more happens
# Of what each presented before the moment, at the end.
STATUS = dict.fromkeys((REVOKED, REVOKED_LATER, TAKEN_BACK, CLOSED), "invalid") | {SUSPENDED: "suspended"}
# For the doctor, which looks at the service from outside.
RESOLVER = f"""
import socket
known = socket.getaddrinfo
socket.getaddrinfo = lambda host, *more, **options: known(
    "127.0.0.1" if host == "{HOST}" else host, *more, **options)
"""


def recovery(place: Place) -> Iterator[Result]:
    """Loses the machine with everything on it, and restores it to a moment.

    One result; each of its targets is something that the restore must give back, or must not.
    """
    if not pgbackrest():
        raise MissingProgramError("The drill `recovery` needs Debian’s pgbackrest.")
    repository = Repository()
    mail = Mail(place.folder / "mail")
    kept, machine = place.folder / "kept", place.folder / "machine"
    for folder in (kept, machine / "audit"):
        folder.mkdir(parents=True)
    mail.start()
    try:
        key = machine / "audit.pem"
        made = ["openssl", "genpkey", "-algorithm", "ed25519", "-out", str(key)]
        subprocess.run(made, check=True, capture_output=True)
        before = replace(place, folder=machine)
        audit = {"AUDIT_FOLDER": str(machine / "audit"), "AUDIT_KEY_FILE": str(key)}
        before.variables = place.variables | mail.environment | audit
        lost = Lost(before, repository, kept)
        with step("until the machine is lost"):
            lost.live()
        lost.lose()
        yield lost.restore(mail)
    finally:
        mail.stop()
        repository.remove()


class Lost:
    """One run: the service lives, is lost, and is restored elsewhere."""

    def __init__(self, place: Place, repository: Repository, kept: Path) -> None:
        self.place, self.repository, self.kept = place, repository, kept
        self.flows: dict[int, list[Flow]] = {}  # of the holders that are no load
        self.said: list[str] = []

    def live(self) -> None:
        """Until the machine is lost: a backup, the moment, and what happens after it."""
        self.cluster = Cluster(self.place.bindir, synchronous_commit="on", **self.repository.options())
        self.repository.serve(self.cluster)
        self.repository.run("stanza-create")
        self.facts = self.place.fill(self.cluster, "service")
        url = database(self.cluster.url, "service")
        stage(self.place.environment(url), "--for", "statements")
        with installation(self.place, url=url, facts=self.facts) as where:
            with under_load(where, LOAD, pause=0.3) as watch:
                began = time.monotonic()
                self.repository.run("--type=full", "backup")
                self.said.append(f"full backup under load {time.monotonic() - began:.1f} s")
                manage(where.environment, "record_backup", given=self._info())
                self._before(where)
                time.sleep(1.1)  # a backup ends at a whole second
                self.moment, self.until = value(url, "SELECT clock_timestamp()::text"), time.monotonic()
                time.sleep(1)
                with step("what happens after the moment"):
                    self._after(where)
                self._wait_for_the_archive(url)
                watch.crowd.wait_for(AFTER)
            self.cluster.kill()
            self.watch = watch
            logs = "".join(instance.log.read_text() for instance in where.instances)
            (self.kept / "log").write_text(logs)  # collected line by line, so nothing of it is lost

    def _wait_for_the_archive(self, url: str) -> None:
        """Waits until what is committed now is archived, which `archive_timeout` bounds."""
        began = time.monotonic()
        segment = value(url, "SELECT pg_walfile_name(pg_current_wal_lsn())")
        archived = "SELECT coalesce(max(last_archived_wal), '') FROM pg_stat_archiver"
        until(lambda: value(url, archived)[:24] >= segment, "no WAL is archived")
        self.archived_after = time.monotonic() - began

    def _before(self, where: Installation) -> None:
        self.codes = operators_with_codes(where.environment, "anna", "ben")
        for number in range(REVOKED, LATE + 1):
            self._present(where, number)
        self._invalidate(where, REVOKED)

    def _after(self, where: Installation) -> None:
        """What happens between the moment and the loss."""
        self._invalidate(where, REVOKED_LATER)
        self._take_back(where, TAKEN_BACK)
        manage(where.environment, *_suspend(self._wallet(where.url, SUSPENDED)))
        with psycopg.connect(
            where.url
        ) as connection:  # the drill may have taken longer than a sign-in is fresh
            connection.execute("UPDATE wallet_holdersession SET signed_in_at = now()")
        self._person(where, CLOSED).submit("/wallet/close/")
        self._present(where, LATE)
        self._take_back(where, LATE)
        manage(where.environment, "rotate_signing_keys")
        self._present(where, LATE)
        close_now(where.url)
        manage(where.environment, "sweep_identity_verifications")
        manage(where.environment, "sign_audit_record")

    def lose(self) -> None:
        """Copies what the backup page lists, which was copied all the time, and removes everything else."""
        wanted = ("AUDIT_FOLDER", "AUDIT_KEY_FILE")
        for name in wanted:
            path = Path(self.place.variables[name])
            (shutil.copytree if path.is_dir() else shutil.copy2)(path, self.kept / path.name)
        (self.kept / "environment").write_text(json.dumps(self.place.variables))
        shutil.copytree(self.repository.root, self.kept / "pgbackrest", symlinks=True)
        self.cluster.stop()
        self.repository.remove()
        shutil.rmtree(self.place.folder)

    def restore(self, mail: Mail) -> Result:
        """A new machine, from what was kept."""
        folder = self.kept.parent / "new"
        folder.mkdir()
        variables = json.loads((self.kept / "environment").read_text()) | {"STATE_DIRECTORY": str(folder)}
        for name in ("AUDIT_FOLDER", "AUDIT_KEY_FILE"):
            variables[name] = str(shutil.move(self.kept / Path(variables[name]).name, folder))
        root = short_folder("restored-")
        shutil.copytree(self.kept / "pgbackrest", root, symlinks=True, dirs_exist_ok=True)
        self.repository = Repository(root)
        place = replace(self.place, folder=folder, variables=variables)
        bindir = place.bindir
        with step("restore to the end of the archive"):
            latest = Restored(bindir, self.repository, archive_mode="off")
            self._reckon_loss(database(latest.url, "service"))
            latest.stop()
        cluster = Restored(bindir, self.repository, self.moment, synchronous_commit="on")
        try:
            self.said.append(f"restore to the moment {cluster.took:.1f} s")
            return self._examine(place, database(cluster.url, "service"), mail)
        finally:
            cluster.stop()
            self.repository.remove()

    def _reckon_loss(self, url: str) -> None:
        """How much the archive lacks, if it is restored to its end."""
        answered = [flow for flow in self.watch.crowd.flows if flow.token]
        stored = recorded(answered, url)
        there = [flow.ended for flow in answered if stored.get(digest(flow), (0, 0)) >= (1, 1)]
        self.loss = max(flow.ended for flow in answered) - max(there)
        lost = f"{len(answered) - len(there)} answers of the last {self.loss:.0f} s"
        self.said.append(f"a restore to the end of the archive loses {lost}")

    def _examine(self, place: Place, url: str, mail: Mail) -> Result:
        environment = place.environment(url)
        place.collect_static(url)
        began = time.monotonic()
        told = after_a_restore(environment, self.moment, self.kept / "log")
        self.said.append(f"the commands after it {time.monotonic() - began:.0f} s")
        with installation(place, url=url, facts=self.facts) as where, sender(where):
            result = Result("the machine is lost, and restored to a moment", self.watch.counted(), self.said)
            must(result, self.loss <= MOST_LOST, "more is lost than archive_timeout allows")
            after = f"a change is archived after {self.archived_after:.0f} s"
            result.target(self.archived_after <= MOST_LOST, after)
            with step("what the runbook gave back"):
                self._check(result, where, told)
            with step("people sign in again"):
                self._sign_in(result, where, mail)
            with step("keys are withdrawn"):
                self._withdraw(result, where)
            with step("the doctor"):
                self._doctor(result, where)
        return result

    def _check(self, result: Result, where: Installation, told: str) -> None:
        """Tokens from before, and what the runbook repeated."""
        early = [flow for flow in self.watch.crowd.flows if flow.token and flow.ended < self.until]
        refused = [why for flow in early if (why := _refusal(where, flow))]
        result.target(bool(early) and not refused, f"{len(early)} answers from before are valid")
        missing = "There is no such presented credential, or it has expired."
        repeated = told.count(": done") >= 4 and told.count(missing) == 1
        must(result, repeated, f"repeat_changes said: {told}")
        scheduled = value(where.url, "SELECT count(*) FROM wallet_wallet WHERE closes_at IS NOT NULL")
        close_now(where.url)
        manage(where.environment, "sweep_identity_verifications")
        closed = value(
            where.url,
            "SELECT count(*) FROM wallet_wallet w JOIN wallet_credential c ON c.wallet_id = w.id WHERE "
            "w.email = 'closed:' || w.id AND c.erased_at IS NOT NULL AND c.sealed_identity = ''",
        )
        must(result, (scheduled, closed) == (1, 1), "the closed wallet is not closed and erased again")
        status = {number: f"status: the credential is {STATUS[number]}" for number in STATUS}
        wanted = [status.get(number, "") for number in range(REVOKED, LATE + 1)]

        def said() -> list[str]:
            return [_refusal(where, self.flows[number][0]) for number in range(REVOKED, LATE + 1)]

        must(result, _published(lambda: said() == wanted), f"status: {said()}")
        must(result, fails(where.environment, "verify_audit_record"), "the audit record has no gap")
        accept_the_gap(where.environment, self.codes)
        for command in ("sign_audit_record", "verify_audit_record"):  # the worker runs the first
            manage(where.environment, command)

    def _sign_in(self, result: Result, where: Installation, mail: Mail) -> None:
        """Old sessions are over; with a code people are in, and present as before."""
        out = self._person(where, 0).present()
        signed_in = []
        for number, (email, _) in enumerate(self.facts["holders"][:LOAD]):
            person = SigningIn(
                where.party(), email, {}, port=where.proxy.port, source=f"127.0.3.{number + 1}"
            )
            person.mail = mail
            if person.present().outcome is Outcome.ANSWERED:
                signed_in.append((email, person.cookies))
        must(result, out.outcome is Outcome.GOES_ON, "an old session is not over")
        must(result, len(signed_in) == LOAD, f"{len(signed_in)} of {LOAD} people sign in again")
        where.facts = {**self.facts, "holders": signed_in}
        with under_load(where, LOAD, pause=0.3) as watch:
            pass
        result.count = result.count.more(watch.counted())
        before = [*self.watch.crowd.flows, *(flow for each in self.flows.values() for flow in each)]
        places = {_place(flow) for flow in before if flow.token}
        again = [flow for flow in watch.crowd.flows if flow.token and _place(flow) in places]
        must(result, not again, f"{len(again)} places in status lists are given again")

    def _withdraw(self, result: Result, where: Installation) -> None:
        """What was presented after the moment has no entry, until the keys that signed it are withdrawn."""
        late = self.flows[LATE][1:]
        kids = [read_jwt(flow.token.split("~")[0]).header["kid"] for flow in late]
        seemed_valid = [flow for flow in late if not _refusal(where, flow)]
        stage(where.environment)  # so that another key signs at once
        for kid in kids:
            manage(where.environment, "withdraw_signing_key", kid, *WHY)
        must(result, len(set(kids)) == len(seemed_valid) == 2, "the runbook is wrong about what has no entry")
        refused = _published(lambda: all("kid" in _refusal(where, flow) for flow in late))
        must(result, refused, "what was presented since is valid after its keys are withdrawn")

    def _doctor(self, result: Result, where: Installation) -> None:
        self.repository.run("--type=full", "backup")
        manage(where.environment, "record_backup", given=self._info())
        (where.place.folder / "sitecustomize.py").write_text(RESOLVER)
        trusted = where.place.folder / "trusted.pem"
        both = (Path(where.environment["SSL_CERT_FILE"]), where.proxy.folder / "certificate.pem")
        trusted.write_text("".join(path.read_text() for path in both))
        changes = {"SSL_CERT_FILE": str(trusted), "PYTHONPATH": str(where.place.folder)}
        said = attempt(where.environment | changes, "doctor", "--json").stdout
        urgent = [each for each in json.loads(said)["checks"] if each["state"] == "NOW"]
        must(result, not urgent, f"the doctor: {urgent}")

    # --- What people and operators do -----------------------------------------------------------------------

    def _person(self, where: Installation, number: int) -> Person:
        email, cookies = self.facts["holders"][number]
        return Person(where.party(), email, cookies, port=where.proxy.port, source=f"127.0.1.{number + 1}")

    def _present(self, where: Installation, number: int) -> None:
        flow = self._person(where, number).present()
        if not flow.token:
            raise RuntimeError(f"holder {number} could not present: {flow}")
        self.flows.setdefault(number, []).append(flow)

    def _invalidate(self, where: Installation, number: int) -> None:
        index, uri = _place(self.flows[number][-1])
        which = f"{uri.rpartition('/')[2]}/{index}"
        manage(where.environment, "set_credential_status", "invalid", "--presented", which, *WHY)

    def _take_back(self, where: Installation, number: int) -> None:
        query = "SELECT consent_id FROM presentation_interaction WHERE nonce_digest = %s"
        consent = value(where.url, query, digest(self.flows[number][-1]))
        self._person(where, number).submit(f"/wallet/history/{consent}/invalidate/")

    def _wallet(self, url: str, number: int) -> str:
        email = self.facts["holders"][number][0]
        return str(value(url, "SELECT id FROM wallet_wallet WHERE email = %s", email))

    def _info(self) -> str:
        return self.repository.run("info", "--output=json")


def must(result: Result, met: bool, otherwise: str) -> None:
    """A target without a figure."""
    if not met:
        result.missed.append(otherwise)


def _published(true: Callable[[], bool]) -> bool:
    """Whether every instance publishes a change in time: `true` holds many times in a row."""
    deadline, looks = time.monotonic() + PUBLISHED, 0
    while looks < LOOKS and time.monotonic() < deadline:
        looks = looks + 1 if true() else 0
        time.sleep(0.1)
    return looks == LOOKS


def _suspend(wallet: str) -> tuple[str, ...]:
    return ("set_credential_status", "suspended", "--wallet", wallet, *WHY)


def _refusal(where: Installation, flow: Flow) -> str:
    """Why the relying party does not accept the answer now; empty if it does."""
    party = where.party()
    party.sent = {"nonce": flow.nonce}
    party.fetch = lambda url: document(where, url).body
    try:
        party.verify(flow.token)
    except RejectedError as error:
        return str(error)
    return ""


def _place(flow: Flow) -> tuple[int, str]:
    return status_reference(read_jwt(flow.token.split("~")[0]).payload)
