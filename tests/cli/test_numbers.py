from __future__ import annotations

from collections.abc import Callable

import pytest


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sample", "macro", "-n", "٣"], "-n must be a whole number, got '٣'"),
        (["sample", "macro", "-n", "1_0"], "-n must be a whole number, got '1_0'"),
        (["sample", "macro", "--seed=99999999999999999999"], "--seed must be at most"),
        (["search", "--minutes", "nan"], "--minutes must be a number, got 'nan'"),
        (["search", "--minutes=1e400"], "--minutes must be finite, got '1e400'"),
    ],
)
def test_options_are_read_strictly(
    arguments: list[str], message: str, refused: Callable[[list[str], str], str]
) -> None:
    assert refused(arguments, message) == ""
