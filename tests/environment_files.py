"""What the readers of settings make of them: systemd, a shell, Docker Compose, Kubernetes."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml


def as_systemd_reads(file: Path) -> dict[str, str]:
    """The variables that a unit gets by EnvironmentFile=, by the function of systemd that reads it."""
    found = sorted(Path("/usr/lib").glob("*/systemd/libsystemd-shared-*.so"))
    if not found:
        pytest.skip("could not run without systemd's library")
    libc, systemd = ctypes.CDLL(None), ctypes.CDLL(str(found[-1]))
    libc.fopen.restype = ctypes.c_void_p
    read = ctypes.POINTER(ctypes.c_char_p)()
    stream = ctypes.c_void_p(libc.fopen(bytes(file), b"r"))
    assert systemd.load_env_file(stream, None, ctypes.byref(read)) == 0
    libc.fclose(stream)
    lines = [each.decode() for each in iter_until_null(read)]
    return dict(line.split("=", 1) for line in lines)


def iter_until_null(strings: "ctypes._Pointer[ctypes.c_char_p]") -> list[bytes]:
    found: list[bytes] = []
    while (value := strings[len(found)]) is not None:
        found.append(value)
    return found


def as_a_shell_reads(file: Path) -> dict[str, str]:
    """The variables that the operator's commands get."""
    script = 'set -eua; . "$1"; env --null'
    words = ["env", "--ignore-environment", "sh", "-c", script, "sh", str(file)]
    lines = subprocess.check_output(words).decode().split("\0")
    return {name: value for name, value in (line.split("=", 1) for line in lines if line) if name != "PWD"}


def as_compose_reads(file: Path) -> dict[str, str]:
    """The variables that a container gets by env_file."""
    if not shutil.which("docker-compose"):
        pytest.skip("could not run without docker-compose")
    compose = {"version": "3", "services": {"one": {"image": "one", "env_file": [str(file)]}}}
    words = ["docker-compose", "--file", "-", "config"]
    printed = subprocess.check_output(words, input=yaml.safe_dump(compose).encode(), cwd=file.parent)
    found: dict[str, str] = yaml.safe_load(printed)["services"]["one"]["environment"]
    return found


def as_kubernetes_reads(file: Path) -> tuple[dict[str, str], dict[str, str]]:
    """The files of the Secret, and the variables of the ConfigMap."""
    secret, config = yaml.safe_load_all(file.read_text())
    assert [each["kind"] for each in (secret, config)] == ["Secret", "ConfigMap"]
    assert all(isinstance(value, str) for value in (secret["stringData"] | config["data"]).values())
    return secret["stringData"], config["data"]
