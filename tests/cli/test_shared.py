from __future__ import annotations

from dataclasses import dataclass

import pytest
import typer

from supernetic.cli.shared import Commands, Interrupted, print_json, say, tell
from supernetic.result import Result


@dataclass(frozen=True)
class LossResult(Result):
    loss: float

    def lines(self) -> list[str]:
        return [f"loss {self.loss}", "done"]


def test_results_are_told_on_stdout_and_progress_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    tell(LossResult(0.5), False)
    say("half way")
    assert capsys.readouterr() == ("loss 0.5\ndone\n", "half way\n")
    tell(LossResult(0.5), True)
    assert capsys.readouterr() == ('{"loss": 0.5}\n', "")


def test_json_has_no_nan() -> None:
    with pytest.raises(ValueError, match="JSON"):
        print_json({"loss": float("nan")})


def test_an_interruption_is_told_with_its_notes() -> None:
    app = typer.Typer(cls=Commands)

    @app.command()
    def job() -> None:
        interruption = KeyboardInterrupt()
        interruption.add_note("`supernetic resume here` goes on")
        raise interruption

    @app.callback()
    def _nothing() -> None:
        pass

    with pytest.raises(Interrupted, match=r"^interrupted; `supernetic resume here` goes on$"):
        app(args=["job"], standalone_mode=False)
