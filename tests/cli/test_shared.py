from __future__ import annotations

from dataclasses import dataclass

import pytest
import typer

from supernetic.cli.shared import (
    Commands,
    Interrupted,
    numbers,
    print_json,
    print_progress,
    print_result,
    split,
    whole_numbers,
)
from supernetic.errors import InputError
from supernetic.result import Result


@dataclass(frozen=True)
class LossResult(Result):
    loss: float

    def lines(self) -> list[str]:
        return [f"loss {self.loss}", "done"]


def test_results_go_to_stdout_and_progress_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    print_result(LossResult(0.5), False)
    print_progress("half way")
    assert capsys.readouterr() == ("loss 0.5\ndone\n", "half way\n")
    print_result(LossResult(0.5), True)
    assert capsys.readouterr() == ('{"loss": 0.5}\n', "")


def test_json_has_no_nan() -> None:
    with pytest.raises(ValueError, match="JSON"):
        print_json({"loss": float("nan")})


def test_lists_are_separated_by_commas() -> None:
    assert split(" none, avg_pool_3x3,") == ["none", "avg_pool_3x3"]
    assert split("") == []
    assert whole_numbers("--batch", "1, 8,128") == [1, 8, 128]
    assert numbers("--weights", "1,0.5") == [1, 0.5]
    assert numbers("--weights", "") == []
    for text in ("", "one", "1.5", "-1", "²"):
        with pytest.raises(InputError, match="--batch takes whole numbers separated by commas, got"):
            whole_numbers("--batch", text)
    with pytest.raises(InputError, match="--weights takes numbers separated by commas, got '1,many'"):
        numbers("--weights", "1,many")


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
