from __future__ import annotations

from pathlib import Path

import pytest

from supernetic import catalog
from supernetic.benchmarks import Table
from supernetic.errors import InputError, UnknownNameError
from supernetic.lab.measures.columns import Columns
from supernetic.ranking.correlation import count_pairs


def test_columns_are_compared_over_all_networks() -> None:
    space = catalog.space("nasbench201")
    measure = Columns(("c10_valid_200", "c10_test_200", "c100_valtest_200"), points=30)
    assert len(measure.check(space)) == 3
    measured = measure(Path("nowhere"), space, lambda *_: None)
    table: Table = catalog.table("nasbench201")
    expected = count_pairs(table["c10_valid_200"].values, table["c10_test_200"].values).tau()
    assert measured.values["tau of c10_valid_200 and c10_test_200"] == pytest.approx(expected)
    assert [len(c) for c in measured.details["columns"]] == [30, 30, 30]


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(InputError, match="two or more different ones"):
        Columns(("c10_valid_200", "c10_valid_200"))
    with pytest.raises(UnknownNameError, match="column"):
        Columns(("c10_valid_200", "nothing")).check(catalog.space("nasbench201"))
