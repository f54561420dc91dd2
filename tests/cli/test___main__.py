from __future__ import annotations

import runpy

import pytest

import supernetic


def test_the_package_can_be_run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["supernetic", "--version"])
    runpy.run_module("supernetic.cli", run_name="__main__")
    assert capsys.readouterr().out == f"{supernetic.__version__}\n"
