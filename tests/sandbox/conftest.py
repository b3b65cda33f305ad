"""Fixtures for the playground."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sandbox

MODULES = Path(sandbox.__file__).parent / "static" / "playground"
RUNNER = Path(__file__).parent / "playground_runner.mjs"


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., dict[str, Any]]:
    """Runs the modules in Node, which needs a package.json to load .js files as modules."""
    directory = tmp_path_factory.mktemp("playground")
    for module in MODULES.glob("*.js"):
        shutil.copy(module, directory)
    (directory / "package.json").write_text('{"type": "module"}')

    def run(**given: Any) -> dict[str, Any]:
        task = json.dumps({"directory": str(directory), **given})
        done = subprocess.run(["node", RUNNER], input=task, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return dict(json.loads(done.stdout))

    return run
