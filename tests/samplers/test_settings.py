from dataclasses import dataclass
from typing import Any, Literal

import pytest

from supernetic.errors import InputError, UnknownNameError
from supernetic.samplers.settings import read_fields


@dataclass(frozen=True)
class Thing:
    number: int = 1
    rate: float = 0.5
    names: tuple[str, ...] = ()
    mode: Literal["slow", "fast"] = "slow"
    part: "Thing | None" = None


def read(**table: Any) -> dict[str, Any]:
    return read_fields("thing", Thing, table, Thing, lambda inner: Thing(**read(**inner)))


def test_values_of_each_kind() -> None:
    values = read(number=3, rate=1, names=["a", "b"], mode="fast", part={"number": 2})
    assert Thing(**values) == Thing(3, 1.0, ("a", "b"), "fast", Thing(2))
    assert type(values["rate"]) is float
    assert read(names="a")["names"] == ("a",)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"number": 1.5}, "thing: number must be int, got 1.5"),
        ({"number": True}, "thing: number must be int, got True"),
        ({"rate": "x"}, "thing: rate must be float, got 'x'"),
        ({"names": [1]}, "thing: names must be"),
        ({"names": 3}, "thing: names must be"),
    ],
)
def test_wrong_types(table: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(**table)


def test_unknown_names() -> None:
    with pytest.raises(UnknownNameError, match="unknown setting of thing 'numbr': did you mean 'number'"):
        read(numbr=1)
    with pytest.raises(UnknownNameError, match="unknown thing: mode 'fats': did you mean 'fast'"):
        read(mode="fats")
