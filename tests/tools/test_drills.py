"""How drills count what happened, and their table; `.ci/run` runs a short one."""

import http.server
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import yaml
from django.conf import settings

from tests.processes import INTERRUPTIBLE
from tests.tools import small_drills
from tests.tools.small_drills import counted
from tools.benchmarks.sites import ROOT, children
from tools.drills import patroni, processes, running, table
from tools.drills.__main__ import named
from tools.drills.drill import Drill
from tools.drills.every import DRILLS
from tools.drills.patroni import Member
from tools.drills.results import Result, unfinished
from tools.drills.running import Outcome

DAY = date(2026, 2, 3)


@pytest.mark.parametrize("what", ["doubled", "stuck", "unrecorded", "unnoticed", "refused"])
def test_what_must_never_happen_makes_a_drill_fail(what: str) -> None:
    assert counted(flows=3, told=1, server_errors=9).sound
    assert not counted(flows=3, **{what: 1}).sound


def test_the_settings_of_patroni_fit_together() -> None:
    dcs = yaml.safe_load(patroni.SETTINGS.read_text())["bootstrap"]["dcs"]
    assert dcs["loop_wait"] + 2 * dcs["retry_timeout"] <= dcs["ttl"]
    assert dcs["synchronous_mode"] is dcs["failsafe_mode"] is True
    silent = int(dcs["postgresql"]["parameters"]["wal_sender_timeout"].removesuffix("s"))
    assert silent + dcs["loop_wait"] < settings.DATABASE_ANSWER_TIMEOUT


def test_drills_run_in_the_order_of_the_names_and_all_of_them_without_names() -> None:
    chosen = ["upgrade", "recovery", "worker"]

    assert [drill.name for drill in named(chosen)] == chosen
    assert named([]) == list(DRILLS.values())
    assert {"failover", "recovery", "upgrade"} < set(DRILLS)


def test_an_unknown_name_is_refused_in_a_sentence_that_lists_the_names() -> None:
    command = [sys.executable, "-m", "tools.drills", "worker", "upgrad"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)

    assert done.returncode == 2
    assert f"There is no drill upgrad. The drills are {', '.join(DRILLS)}." in done.stderr


def test_the_list_of_drills_has_each_name_with_its_bound_and_what_it_does() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tools.drills", "--list"], cwd=ROOT, capture_output=True, text=True
    )

    assert [line.split()[0] for line in done.stdout.splitlines()] == list(DRILLS)
    assert all(f"{drill.bound} s  {drill.about}" in done.stdout for drill in DRILLS.values())
    assert all(drill.run.__doc__ for drill in DRILLS.values())


@pytest.mark.nginx
@pytest.mark.postgresql
def test_all_results_of_a_drill_arrive_whether_it_has_one_or_several_or_fails() -> None:
    chosen = [small_drills.DRILLS[name] for name in ("failing", "two", "lacking", "doubled")]
    failing, two, lacking, doubled = running.run(chosen)

    assert two.results == [*small_drills.two(None)]  # type: ignore[arg-type]
    assert (two.sound, two.flows) == (True, 7)
    assert failing.results == [
        Result("the first", counted(flows=3)),
        unfinished("A drill that fails.", "failed: RuntimeError: the disk is gone"),
    ]
    why = "did not run: It needs Debian’s sl."
    assert lacking.results == [unfinished("A drill that needs more than is there.", why)]
    assert [one.sound for one in (failing, lacking, doubled)] == [False] * 3


@pytest.mark.nginx
@pytest.mark.postgresql
def test_a_drill_beyond_its_bound_is_ended_and_the_next_one_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLEANED_UP", str(tmp_path / "cleaned up"))
    endless, two = running.run([Drill("endless", small_drills.endless, 2), small_drills.DRILLS["two"]])

    why = "did not end within 2 seconds, and was ended"
    assert endless.results[-1] == unfinished("A result, and then no end.", why)
    assert (endless.sound, two.sound) == (False, True)


@pytest.mark.nginx
@pytest.mark.postgresql
def test_a_drill_that_is_ended_stops_what_it_started_and_keeps_its_results(tmp_path: Path) -> None:
    cleaned_up, written = tmp_path / "cleaned up", tmp_path / "results"
    command = ["-m", "tools.drills.one", "tests.tools.small_drills:endless", str(written)]
    with subprocess.Popen(
        [sys.executable, *command], cwd=ROOT, env=os.environ | {"CLEANED_UP": str(cleaned_up)}
    ) as process:
        patroni.until(lambda: written.exists() and written.read_text().endswith("\n"), "no result is written")
        process.send_signal(signal.SIGTERM)

    assert process.returncode == 1
    assert cleaned_up.exists()
    assert Result.from_json(written.read_text()) == Result("the first", counted(flows=3))


@pytest.mark.nginx
@pytest.mark.postgresql
def test_a_process_that_a_drill_left_running_is_ended_and_named_and_its_folders_are_removed() -> None:
    [leaving] = running.run([small_drills.DRILLS["leaving"]])

    assert leaving.results[-1].missed == ["left 1 processes running, which were ended: sleep 1234"]
    assert not leaving.sound
    assert not Path(leaving.results[0].name).exists()


@pytest.mark.nginx
@pytest.mark.postgresql
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_drills_can_be_ended_and_leave_nothing_behind(number: signal.Signals) -> None:
    command = [*INTERRUPTIBLE, sys.executable, "-m", "tools.drills", "worker"]
    with subprocess.Popen(command, cwd=ROOT) as process:
        patroni.until(lambda: bool(children(process.pid)), "no drill starts")
        [drill] = children(process.pid)
        words = Path(f"/proc/{drill}/cmdline")
        patroni.until(lambda: b"tools.drills.one" in words.read_bytes(), "no drill starts")
        results = Path(words.read_bytes().decode().rstrip("\0").split("\0")[-1])
        assert results.exists()
        process.send_signal(number)

    assert process.returncode not in (0, -signal.SIGTERM)
    assert not words.exists()
    assert not results.parent.exists()


def test_no_process_outlives_a_program_whose_time_is_over(tmp_path: Path) -> None:
    """Neither the program, which ignores SIGTERM, nor its grandchild, which has a session of its own."""
    number = tmp_path / "number"
    child = f"trap '' TERM; echo \\$\\$ > {number}; sleep 1234"
    program = f"trap '' TERM; (setsid sh -c \"{child}\" &); sleep 1234"
    before = children(os.getpid())
    ending = processes.run(["sh", "-c", program], 3, os.environ, grace=0.1)

    assert ending.status is None
    assert not Path(f"/proc/{int(number.read_text())}").exists()
    assert children(os.getpid()) == before


def test_a_process_whose_parent_has_ended_is_gone_as_soon_as_it_ends_itself(tmp_path: Path) -> None:
    """Patroni starts a database server by another process, and waits until the server’s number is free."""
    number = tmp_path / "number"
    program = f"sh -c 'true & echo $! > {number}'; while [ -e /proc/$(cat {number}) ]; do sleep 0.01; done"

    assert processes.run(["sh", "-c", program], 20, os.environ) == processes.Ending(0, [])


def test_a_program_that_ends_in_time_has_its_own_status() -> None:
    assert processes.run(["sh", "-c", "exit 3"], small_drills.LONG, os.environ) == processes.Ending(3, [])


def outcome(name: str, *results: Result) -> Outcome:
    return Outcome(DRILLS[name], [*results], 1.0)


def test_the_table_says_in_words_that_a_drill_did_not_end() -> None:
    text = table.markdown([outcome("upgrade", unfinished("an upgrade", "did not end\nin time"))], DAY)

    assert text.splitlines()[-1] == (
        f"| `upgrade` | an upgrade | {'– | ' * 8}**did not end in time** | 2026-02-03 |"
    )


def test_the_document_gets_the_lines_of_the_drills_that_ran_and_keeps_those_of_the_others() -> None:
    first = outcome("failover", *small_drills.two(None))  # type: ignore[arg-type]
    empty = "<!-- written by `make drill WRITE=1` -->\n<!-- end of the table -->\n\nThe end.\n"
    once = table.written(f"Figures\n{empty}", [first], DAY)
    again = outcome("recovery", Result("a restore", counted(flows=9)))
    newer = outcome("worker", Result("kill -9", counted(flows=5)))
    twice = table.written(once, [again, newer], date(2026, 2, 4))

    assert once.startswith("Figures\n<!-- written by")
    assert once.endswith("<!-- end of the table -->\n\nThe end.\n")
    lines = [line for line in twice.splitlines() if line.startswith("| `")]
    assert [line.split(" | ")[:2] for line in lines] == [
        ["| `worker`", "kill -9"],
        ["| `failover`", "the first"],
        ["| `failover`", "the second"],
        ["| `recovery`", "a restore"],
    ]
    assert [line[-4:-2] for line in lines] == ["04", "03", "03", "04"]  # the days
    assert "a \\| b" in twice
    with pytest.raises(ValueError, match="place of the table"):
        table.written("Figures", [first], DAY)


def test_the_table_in_the_document_has_a_line_for_every_drill() -> None:
    text = table.DOCUMENT.read_text()

    assert table.written(text, [], DAY) == text
    assert all(f"\n| `{name}` | " in text for name in DRILLS)


@contextmanager
def member_that_answers(*answers: tuple[int, Any]) -> Iterator[Member]:
    """A server whose Patroni gives these answers, one after the other."""
    left = list(answers)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, content = left.pop(0)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(content.encode() if isinstance(content, str) else json.dumps(content).encode())

        do_POST = do_GET

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield Member("db1", Path("/nowhere"), rest=server.server_port)
        finally:
            server.shutdown()
            thread.join()


def test_a_server_has_a_role_only_while_it_runs() -> None:
    """Right after a switchover the former primary is called demoted, and stops."""
    answers = [
        {"role": "demoted", "state": "stopping"},
        {"role": "replica", "state": "starting"},
        {"role": "replica", "state": "running"},
        {"role": "replica", "state": "running", "sync_standby": True},
        {"role": "master", "state": "running"},
    ]
    with member_that_answers(*((200, answer) for answer in answers)) as member:
        assert [member.role() for _ in answers] == ["", "", "replica", "sync_standby", "leader"]


def test_a_restart_is_tried_again_only_while_patroni_is_busy() -> None:
    busy, failed = "manual failover: demote already in progress", "restart failed"
    with member_that_answers((503, busy), (200, "restarted successfully"), (503, failed)) as member:
        assert [member.try_to_restart(), member.try_to_restart()] == [False, True]
        with pytest.raises(RuntimeError, match="db1 failed: 503 restart failed"):
            member.try_to_restart()
