from __future__ import annotations

import runpy

import pytest


def test_the_package_can_be_run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["supernetic", "--version"])
    runpy.run_module("supernetic", run_name="__main__")
    assert capsys.readouterr().out == "0.3.0\n"
