from __future__ import annotations

from collections.abc import Callable

import pytest

from supernetic.proxies.probe import Probe
from supernetic.proxies.swap import swap

Look = Callable[..., Probe]


@pytest.mark.parametrize("n", [6, 9, 70])  # one byte, one word, several words
def test_against_a_set_of_patterns(look: Look, n: int) -> None:
    probe = look((3, 0, 1, 2, 4, 3), n=n)
    patterns = {tuple(column) for signs in probe.signs for column in signs.T.tolist()}
    assert swap(probe) == len(patterns) <= 2**n
    assert len(patterns) > 2


def test_without_rectifiers_there_is_no_pattern(look: Look) -> None:
    assert swap(look((0,) * 6)) == 0
