from __future__ import annotations

import pytest

from supernetic.numerals import LARGEST, real_number, whole_number


@pytest.mark.parametrize(("text", "value"), [("0", 0), ("-3", -3), (" 12 ", 12), (str(LARGEST), LARGEST)])
def test_whole_numbers(text: str, value: int) -> None:
    assert whole_number(text) == value


@pytest.mark.parametrize("text", ["", "1.5", "²", "٣", "1_000", "nan", "0x1", str(LARGEST + 1), "9" * 5000])
def test_what_is_no_whole_number(text: str) -> None:
    with pytest.raises(ValueError, match="must be"):
        whole_number(text)


@pytest.mark.parametrize(("text", "value"), [("1", 1.0), ("-.5", -0.5), ("3e-4", 3e-4), ("2.", 2.0)])
def test_numbers(text: str, value: float) -> None:
    assert real_number(text) == value


@pytest.mark.parametrize("text", ["", "nan", "inf", "-inf", "1e400", "²", "٣", "1_0", "many"])
def test_what_is_no_number(text: str) -> None:
    with pytest.raises(ValueError, match="must be"):
        real_number(text)
