from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from supernetic.errors import InputError, RunError
from supernetic.evaluators.supernet import SupernetEvaluator
from supernetic.jobs.train import score as module
from supernetic.jobs.train.job import train
from supernetic.jobs.train.score import is_run, score, translated
from supernetic.jobs.train.supernet_run import load_supernet
from supernetic.runs.files import SCORES
from supernetic.space import Arch
from supernetic.spaces.macro import Macro
from supernetic.spaces.nasbench201 import NASBench201

ARCHS: list[Arch] = [tuple(a) for a in Macro().sample(np.random.default_rng(0), 6).tolist()]


def test_scores_are_the_evaluators(run: Path) -> None:
    evaluate = SupernetEvaluator(*load_supernet(run))
    assert score(run, Macro(), ARCHS) == evaluate(ARCHS)


def test_nothing_is_evaluated_twice(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Arch] = []
    call = SupernetEvaluator.__call__

    def counted(self: SupernetEvaluator, archs: Sequence[Arch]) -> list[dict[str, float]]:
        asked.extend(archs)
        return call(self, archs)

    monkeypatch.setattr(SupernetEvaluator, "__call__", counted)
    monkeypatch.setattr(module, "ARCHS_PER_RECORD", 2)
    told: list[tuple[int, int]] = []
    first = score(run, Macro(), ARCHS[:4], progress=lambda done, total: told.append((done, total)))
    assert told == [(2, 4), (4, 4)]
    again = score(run, Macro(), [*ARCHS[::-1], ARCHS[0]])
    assert sorted(asked) == sorted(ARCHS)
    assert again[-1] == again[-2] == first[0]
    assert score(run, Macro(), ARCHS) == again[-2::-1]
    assert len(asked) == 6


def test_other_bn_is_another_score(run: Path) -> None:
    recalibrated, batch = (score(run, Macro(), ARCHS[:1], bn=bn) for bn in ("recalibrate", "batch"))
    assert recalibrated != batch
    records = [json.loads(line) for line in (run / SCORES).read_text().splitlines()]
    assert [(r["bn"], r["images"]) for r in records] == [("recalibrate", 1024), ("batch", 0)]


def test_a_snapshot_is_another_score(tmp_path: Path) -> None:
    run = tmp_path / "run"
    train("macro:channels=4,resolution=8,head=16", steps=4, limit=300, snapshots="2", out=run)
    late, early = score(run, Macro(), ARCHS[:2]), score(run, Macro(), ARCHS[:2], step=2)
    assert early == SupernetEvaluator(*load_supernet(run, 2))(ARCHS[:2])
    assert late != early
    assert (score(run, Macro(), ARCHS[:2]), score(run, Macro(), ARCHS[:2], step=2)) == (late, early)
    assert len((run / SCORES).read_text().splitlines()) == 4


def test_a_torn_line_costs_one_evaluation(run: Path) -> None:
    expected = score(run, Macro(), ARCHS[:2])
    file = run / SCORES
    file.write_bytes(file.read_bytes()[:-9])
    assert score(run, Macro(), ARCHS[:2]) == expected


def test_encodings_are_translated_between_masked_spaces() -> None:
    full, masked = NASBench201(), NASBench201(without=("none",), cells=1)
    archs = translated([(0, 1, 2, 3, 0, 0)], masked, full, "run")
    assert archs == [(1, 2, 3, 4, 1, 1)]
    assert translated(archs, full, masked, "run") == [(0, 1, 2, 3, 0, 0)]
    with pytest.raises(RunError, match=r"lacks some of these architectures: unknown operation 'none'"):
        translated([(0,) * 6], full, masked, "run")
    with pytest.raises(RunError, match="holds a supernet of nasbench201, not of macro"):
        translated([(0,) * 8], Macro(), full, "run")


def test_what_is_a_run(run: Path, tmp_path: Path) -> None:
    assert is_run(str(run))
    assert not is_run(str(tmp_path))
    assert not is_run("macs")


def test_a_part_of_the_images_is_another_score(run: Path) -> None:
    """As many of each class; no temperature is fitted, and all of them give what the whole gives."""
    found = score(run, Macro(), ARCHS[:2], bn="batch", valid=20)
    assert set(found[0]) == {"valid/cross_entropy", "valid/accuracy"}
    assert all(100 * a["valid/accuracy"] % 500 == 0 for a in found)  # in steps of 1/20
    whole, all_of_them = (score(run, Macro(), ARCHS[:2], bn="batch", valid=n) for n in (None, 1000))
    assert [{k: a[k] for k in b} for a, b in zip(whole, all_of_them, strict=True)] == all_of_them
    assert score(run, Macro(), ARCHS[:2], bn="batch", valid=20) == found
    with pytest.raises(InputError, match="a validation image of each class"):
        score(run, Macro(), ARCHS[:1], bn="running", valid=3)
