from __future__ import annotations

from math import isnan

import numpy as np
import pytest

from supernetic.benchmarks import Column, Table
from supernetic.benchmarks.nasbench201 import load
from supernetic.errors import UnknownNameError
from supernetic.evaluators import TableEvaluator
from supernetic.spaces.macro import Macro


def test_known_cells() -> None:
    table = load()
    evaluate = TableEvaluator(table, ("c10_valid_200", "c10_test_200"))
    best, other = (tuple(table.archs[i].tolist()) for i in (6111, 13714))
    a, b = evaluate([best, other])
    assert a["table/c10_valid_200"] == pytest.approx(91.6067, abs=1e-4)
    assert b["table/c10_test_200"] == pytest.approx(94.37, abs=5e-3)
    assert evaluate([other, best]) == [b, a]
    assert evaluate.test == {"table/c10_test_200"}


def test_an_unknown_architecture_is_nan_not_another_row() -> None:
    table = Table(Macro(), np.array([[0] * 8, [1] * 8]), {"x": Column(np.array([1.0, 2.0]))})
    absent, present = TableEvaluator(table, ("x",))([(2,) * 8, (1,) * 8])
    assert isnan(absent["table/x"])
    assert present == {"table/x": 2.0}


def test_no_columns_are_empty_records() -> None:
    assert TableEvaluator(load(), ())([(0,) * 6, (1,) * 6]) == [{}, {}]


def test_an_unknown_column_is_named() -> None:
    with pytest.raises(UnknownNameError, match="c10_valid_200"):
        _ = TableEvaluator(load(), ("c10_valid_20",)).test
