"""Exit codes and streams, whatever the command."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import supernetic
from supernetic import cli
from supernetic.commands import spaces
from supernetic.errors import SupernetError


def test_processes_end_with_the_same_codes(process: Callable[..., Any]) -> None:
    version = process("--version")
    assert (version.returncode, version.stdout, version.stderr) == (0, f"{supernetic.__version__}\n", "")
    assert process("spaces").returncode == 0
    bad = process("cost", "nowhere", "0")
    assert (bad.returncode, bad.stdout, bad.stderr.count("\n")) == (2, "", 1)
    assert "Usage" in process().stdout


def test_help_groups_the_commands(process: Callable[..., Any]) -> None:
    text = process("--help").stdout
    assert text.startswith("Usage: supernetic ")
    places = [
        text.index(words) for words in ("From images to models:", "  search ", "  resume ", "  spaces ", "  data ")
    ]
    assert places == sorted(places)
    assert "..." not in text.partition("From images to models:")[2]  # no sentence is cut


def test_json_is_all_there_is_on_stdout(process: Callable[..., Any]) -> None:
    done = process("sample", "attentive", "-n", "2", "--where", "macs<=300M", "--json")
    record = json.loads(done.stdout)
    assert {"archs", "macs", "trials_per_sample", "seconds"} <= record.keys()
    assert done.stdout.count("\n") == 1


def test_a_closed_pipe_is_no_error() -> None:
    done = subprocess.run(
        f"{sys.executable} -m supernetic.cli sample macro -n 20000 | head -1",
        shell=True,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.count("\n") == 1
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (SupernetError("the work\nfailed"), 1, "the work failed"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (OSError(errno.ENOSPC, "No space left on device", "here/file"), 2, "here/file: No space left on device"),
    ],
)
def test_what_goes_wrong_in_a_command_is_one_line(
    error: BaseException, code: int, words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails() -> None:
        raise error

    monkeypatch.setattr(spaces, "list_spaces", fails)
    with pytest.raises(SystemExit) as leaving:
        cli.main(["spaces"])
    assert leaving.value.code == code
    assert capsys.readouterr() == ("", f"supernetic: {words}\n")


def test_unknown_errors_keep_their_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spaces, "list_spaces", lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        cli.main(["spaces"])
