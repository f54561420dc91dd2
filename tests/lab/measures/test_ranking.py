from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from supernetic import catalog
from supernetic.errors import InputError, TableError
from supernetic.jobs.train.score import score
from supernetic.lab.measures.measure import Measured
from supernetic.lab.measures.ranking import Ranking, table_of

SETTINGS = {"truth": "mean_acc", "valid": 20, "random": 25, "sizes": (5, 10)}


def test_numbers_are_those_of_the_scores(run: Path) -> None:
    told: list[int] = []
    measure = Ranking(**SETTINGS, points=25)  # type: ignore[arg-type]
    found = measure(run, catalog.space("macro:channels=4,resolution=8,head=16"), lambda n, _: told.append(n))
    assert told  # how far it is
    table = catalog.table("macro").unique()
    truth = table["mean_acc"].values
    top = np.argsort(-truth, kind="stable")[:10]
    answers = score(run, table.space, [tuple(a) for a in table.archs[top].tolist()], bn="batch", valid=20)
    for prefix, metric, sign in (("", "valid/accuracy", 1), ("cross_entropy/", "valid/cross_entropy", -1)):
        mine = [sign * a[metric] for a in answers]
        assert found.values[f"{prefix}score@10"] == pytest.approx(np.mean(mine))
        assert found.values[f"{prefix}tau_b@10"] == pytest.approx(stats.kendalltau(mine, truth[top]).statistic)
    assert set(found.values) == set(measure.check(table.space)) - {"joint tau_a"}
    assert len(found.details["points"]) == 25
    assert found.details["networks"] == 3969


def test_joint_tau_a_cuts_sizes_as_the_table_does() -> None:
    measure = Ranking(truth="x", sizes=(10, 25, 50))
    values = [{"score@10": 3.0, "score@25": 2.0, "score@50": 2.0}, {"score@10": 1.0, "score@25": 1.5, "score@50": 1.5}]
    small = {i: Measured(v, {"networks": 20}) for i, v in enumerate(values)}
    assert measure.pooled(small) == {"joint tau_a": -1.0}  # of two sizes, 10 and 20
    large = {i: Measured(v, {"networks": 90}) for i, v in enumerate(values)}
    assert measure.pooled(large)["joint tau_a"] == pytest.approx(-2 / 3)  # the last two tie


def test_tables_are_masked_and_cells_shared() -> None:
    masked = table_of(
        catalog.space("nasbench201:share_cells=false,cells=2,without=none+skip_connect,stabiliser=skip"), ""
    )
    assert len(masked) == 3**6
    assert len(table_of(catalog.space("macro"), "")) == 3969


def test_missing_tables_are_refused() -> None:
    with pytest.raises(TableError, match="no table of nasbench101-chain is bundled"):
        table_of(catalog.space("nasbench101-chain"), "")
    with pytest.raises(TableError, match=r"nasbench_only108.tfrecord of nasbench101-chain does not exist"):
        table_of(catalog.space("nasbench101-chain"), "nasbench_only108.tfrecord")
    bad: dict[str, Any]
    for bad in ({"score": "test/accuracy"}, {"bn": "none"}, {"sizes": (1,)}, {"random": 1}, {"valid": -1}):
        with pytest.raises(InputError):
            Ranking(truth="mean_acc", **bad)
