"""Which tests `make quick` leaves out."""

import re

# What `make quick` leaves out: tests with these markers, and modules that import what starts programs.
APART = {
    "postgresql",
    "browser",
    "firefox",
    "webkit",
    "node",
    "curl",
    "gettext",
    "acme",
    "nginx",
    "apache",
    "systemd",
    "promtool",
    "kubectl",
    "softhsm",
    "pgbouncer",
    "pgbackrest",
    "slow",
}
_STARTS = {"subprocess", "processes", "own_databases", "project_copy", "sites", "servers", "warm_start"}
_IMPORT = re.compile(r"^(?:from|import) [^(\n]*(?:\([^)]*\))?", re.MULTILINE)
_OF_THE_MODULE = re.compile(r"^pytestmark = (?:\[[^\]]*\]|.*)", re.MULTILINE)


def is_left_out(text: str) -> bool:
    """Whether `make quick` leaves out the whole test module with this text."""
    lines = [line for line in _IMPORT.findall(text) if not line.endswith(" import ROOT")]
    imported = {word for line in lines for word in re.findall(r"\w+", line)}
    marked = {name for line in _OF_THE_MODULE.findall(text) for name in re.findall(r"mark\.(\w+)", line)}
    return bool(imported & _STARTS or marked & APART)
