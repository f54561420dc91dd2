"""The command line as a user meets it: exit codes, one line for bad input, plain JSON."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from supernetic import cli

Process = Callable[..., subprocess.CompletedProcess[str]]
SEARCH = [
    "search", "--space", "macro:channels=4,resolution=8,head=16", "--where", "macs<=60K", "--steps", "4",
    "--network-steps", "2", "--population", "4", "--generations", "1", "--keep", "1", "--limit", "300",
    "--workers", "1", "--threads", "1",
]  # fmt: skip


@pytest.fixture
def process() -> Process:
    """Runs the command line in a process of its own, where files may have so many bytes."""

    def run(*arguments: str, cwd: Path | None = None, room: int | None = None) -> subprocess.CompletedProcess[str]:
        limits = room or resource.RLIM_INFINITY, resource.RLIM_INFINITY
        return subprocess.run(
            [sys.executable, "-m", "supernetic.cli", *arguments], capture_output=True, text=True, check=False, cwd=cwd,
            preexec_fn=(lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limits)) if room else None,
        )  # fmt: skip

    return run


@pytest.fixture
def parsed(capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """What a command prints with `--json`."""

    def run(*arguments: str) -> Any:
        cli.main([*arguments, "--json"])
        return json.loads(capsys.readouterr().out)

    return run


@pytest.fixture
def refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[list[str], str], str]:
    """Checks that bad input ends with exit code 2 and one line, and that nothing in the test's directory is touched."""
    monkeypatch.chdir(tmp_path)

    def run(arguments: list[str], message: str) -> str:
        before = snapshot(tmp_path)
        with pytest.raises(SystemExit) as leaving:
            cli.main(arguments)
        out, err = capsys.readouterr()
        *told, last = err.splitlines()
        assert leaving.value.code == 2
        assert last.startswith("supernetic: ")
        assert message in last
        assert "Traceback" not in err
        assert out == ""
        assert snapshot(tmp_path) == before
        return "\n".join(told)

    return run


def snapshot(directory: Path) -> dict[Path, bytes]:
    """All files below a directory, hidden ones included."""
    found = (Path(root) / name for root, _, names in os.walk(directory) for name in names)
    return {path: path.read_bytes() for path in found}


@pytest.fixture(scope="session")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of a tiny search, by the command line."""
    run = tmp_path_factory.mktemp("cli") / "run"
    cli.main([*SEARCH, "--out", str(run)])
    return run
