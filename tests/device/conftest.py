"""Scripts that need a process of their own, since the pretend device changes torch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
Script = Callable[..., Any]


@pytest.fixture(scope="session")
def script() -> Script:
    """Runs a script of this folder, and gives what it prints."""

    def run(name: str, *arguments: str) -> Any:
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, str(HERE / name), *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        return json.loads(done.stdout.splitlines()[-1])

    return run
