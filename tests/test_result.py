from dataclasses import dataclass

import pytest

from supernetic.result import Result


@dataclass(frozen=True)
class LossResult(Result):
    archs: tuple[tuple[int, ...], ...]
    loss: float

    def lines(self) -> list[str]:
        return [f"{len(self.archs)} networks", f"loss {self.loss}"]


def test_both_ways() -> None:
    result = LossResult(((1, 2), (3, 4)), 0.5)
    assert str(result) == "2 networks\nloss 0.5"
    assert result.to_json() == {"archs": [[1, 2], [3, 4]], "loss": 0.5}


def test_what_json_does_not_have_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        LossResult((), float("nan")).to_json()
