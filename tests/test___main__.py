from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest


def test_the_package_can_be_run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["supernetic", "--version"])
    runpy.run_module("supernetic", run_name="__main__")
    assert capsys.readouterr().out == "0.3.0\n"


@pytest.mark.skipif(sys.platform == "win32", reason="needs descriptors of a process to come")
@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)])
def test_streams_may_be_closed(closed: tuple[int, ...], tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / "photos" / name).mkdir(parents=True)
        for i in range(12):
            (tmp_path / "photos" / name / f"{i}.pgm").write_bytes(b"P5 8 8 255\n" + bytes([i] * 64))

    def close() -> None:
        for number in closed:
            os.close(number)

    command = [sys.executable, "-m", "supernetic", "data", "check", "photos"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, preexec_fn=close)
    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in done.stderr
