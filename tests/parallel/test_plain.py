from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from supernetic.errors import SupernetError

pytest.importorskip("msgpack", reason="the extra `cluster` is not installed")

from supernetic.parallel.plain import decode, encode


@pytest.mark.parametrize(
    ("answer", "back"),
    [
        (None, None),
        ({"valid/accuracy": np.float64(12.5), "n": np.int64(3)}, {"valid/accuracy": 12.5, "n": 3}),
        ((1, [2.5, "x"], b"\0\1"), [1, [2.5, "x"], b"\0\1"]),
        ({3: True}, {3: True}),
        (np.float32(0.1), float(np.float32(0.1))),
    ],
)
def test_plain_data_come_back(answer: Any, back: Any) -> None:
    assert decode(encode(answer)) == back


def test_what_is_not_finite_comes_back() -> None:
    assert math.isnan(decode(encode(math.nan)))
    assert decode(encode(-math.inf)) == -math.inf


@pytest.mark.parametrize("answer", [{1}, object(), np.zeros(3), [print]])
def test_anything_else_is_refused(answer: Any) -> None:
    with pytest.raises(SupernetError, match="plain data, got"):
        encode(answer)
