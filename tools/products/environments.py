"""Where the products are installed: an environment for each lock, made when it is needed."""

import shutil
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.programs import apache
from tools.products.product import FOLDER

INSTALLED = FOLDER.parents[1] / "var" / "products"
NODE = INSTALLED / "node"


class MissingProgramError(Exception):
    """A program that a product needs is not installed; the text names it."""


def programs(environment: str) -> Path:
    """The folder with the programs of an environment, which is installed first if its lock is new.

    Raises MissingProgramError.
    """
    if environment == "debian":
        if (found := apache()) is None:
            raise MissingProgramError("Apache's mod_auth_openidc is not installed")
        return Path(found).parent
    return _node() if environment == "node" else _python(environment)


def install(environments: Iterable[str]) -> None:
    """Installs what is new of these, two at a time. Raises MissingProgramError."""
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(programs, sorted(environments)))


def _python(environment: str) -> Path:
    lock, folder = FOLDER / "environments" / f"{environment}.txt", INSTALLED / environment
    copy = folder / "installed.txt"
    if not _same(lock, copy):
        print(f"installing {environment} …", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"]
        subprocess.run([folder / "bin" / "python", *install, "-r", lock], check=True)
        shutil.copy(lock, copy)
    return folder / "bin"


def _node() -> Path:
    if shutil.which("npm") is None:
        raise MissingProgramError("npm is not installed")
    copy = NODE / "node_modules" / "installed.json"
    if not _same(FOLDER / "node" / "package-lock.json", copy):
        print("installing node …", flush=True)
        NODE.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json", ".npmrc"):
            shutil.copy(FOLDER / "node" / name, NODE)
        subprocess.run(["npm", "ci", "--silent", "--no-progress", "--ignore-scripts"], cwd=NODE, check=True)
        shutil.copy(NODE / "package-lock.json", copy)
    return NODE / "node_modules" / ".bin"


def _same(lock: Path, copy: Path) -> bool:
    return copy.exists() and copy.read_bytes() == lock.read_bytes()
