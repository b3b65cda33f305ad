"""The client libraries, built and installed into empty environments as a developer would."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cryptography
import django
import fastapi
import flask
import pytest

from tests.project_copy import NODE_PACKAGES, ROOT

HERE = Path(__file__).parent
LANGUAGES = ["python", "node"]
HOME, MAIL = "https://shop.example/callback", "sam@example.org"


class RefusedError(Exception):
    """The library raised one of its exceptions: its name, its code or check, and its text."""

    def __init__(self, kind: str, code: str, text: str) -> None:
        super().__init__(kind, code, text)
        self.kind, self.code, self.text = kind, code, text


@dataclass
class Library:
    """An installed library, which a process of its own drives by `driver`."""

    process: subprocess.Popen[str]
    language: str

    def __call__(self, command: str, **arguments: Any) -> Any:
        """The answer to a command of the driver. Raises `RefusedError`."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps({"do": command, **arguments}) + "\n")
        self.process.stdin.flush()
        said = json.loads(self.process.stdout.readline())
        if "error" in said:
            raise RefusedError(said["error"], said["code"], said["text"])
        return said["answer"]


@dataclass
class Installed:
    """The built files, a virtual environment with the wheel, and a folder with the npm package."""

    built: Path
    python: Path
    node: Path

    def starts(self, language: str) -> Library:
        driver = HERE / ("driver.py" if language == "python" else "driver.mjs")
        if language == "node":  # Node.js looks for packages beside the script
            driver = Path(shutil.copy(driver, self.node))
        program = self.python if language == "python" else "node"
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        process = subprocess.Popen([program, driver], cwd=driver.parent, text=True, env=clean(), **pipes)
        return Library(process, language)


def refusal(call: Callable[..., Any], *words: Any, **arguments: Any) -> tuple[str, str]:
    """The exception of the library, and its code or check."""
    with pytest.raises(RefusedError) as refused:
        call(*words, **arguments)
    for private in ("Alice", "Müller", MAIL, "Weinkühler"):
        assert private not in refused.value.text
    return refused.value.kind, refused.value.code


def clean() -> dict[str, str]:
    """An environment in which Python finds nothing of this project."""
    return {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")}


def in_node(code: str) -> str:
    """What Node.js says about an exception of this code, which has the module `library`."""
    code = f'import * as library from "{ROOT / "clients" / "node" / "index.js"}";\n{code}'
    return subprocess.run(["node", "--input-type=module", "-e", code], capture_output=True, text=True).stderr


def run(*command: str | Path, cwd: Path, **variables: str) -> None:
    environment = clean() | variables
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


def install(folder: Path) -> Installed:
    """Builds both and installs them, without a network."""
    built, environment, node = (folder / name for name in ("built", "venv", "node"))
    run(ROOT / "clients" / "build", built, cwd=ROOT)
    run(sys.executable, "-m", "venv", "--without-pip", environment, cwd=folder)
    python = environment / "bin" / "python"
    wheel, tarball = next(built.glob("*.whl")), next(built.glob("*.tgz"))
    pip = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check"]
    run(*pip, "install", "--quiet", "--no-index", "--no-deps", wheel, cwd=folder)
    # `cryptography` and the frameworks come from the tests' environment, because tests reach no package
    # index. The service is not in there: it runs from its folder.
    packages = {
        str(Path(module.__file__ or "").parents[1]) for module in (cryptography, django, fastapi, flask)
    }
    site = next((environment / "lib").glob("python*/site-packages"))
    (site / "tests.pth").write_text("\n".join(packages))
    node.mkdir()
    (node / "package.json").write_text('{"private": true, "type": "module"}')
    run("npm", "install", "--silent", "--offline", "--ignore-scripts", tarball, cwd=node)
    for name in ("express", "hono", "@hono", "esbuild", "@esbuild", "typescript", "@types"):
        (node / "node_modules" / name).symlink_to(ROOT / NODE_PACKAGES / name)
    return Installed(built, python, node)
