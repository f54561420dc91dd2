from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from supernetic.errors import InputError
from supernetic.lab.measures.extremes import Extremes, mistakes
from supernetic.spaces.macro import Macro

RNG = np.random.default_rng(0)


def test_mistakes_are_the_worst_pairs() -> None:
    score, truth = RNG.normal(size=30).round(1), RNG.normal(size=30).round(1)
    share, listed = mistakes(score, truth, 4)
    wrong = {
        (i, j) if truth[i] > truth[j] else (j, i): abs(truth[i] - truth[j])
        for i, j in combinations(range(30), 2)
        if (score[i] - score[j]) * (truth[i] - truth[j]) < 0
    }
    assert share == pytest.approx(len(wrong) / 435)
    assert listed[0][2] == pytest.approx(max(wrong.values()))
    assert all(wrong[i, j] == pytest.approx(d) for i, j, d in listed)
    assert [d for *_, d in listed] == sorted((d for *_, d in listed), reverse=True)
    assert len({k for i, j, _ in listed for k in (i, j)}) == 8
    assert mistakes(truth, truth, 4) == (0.0, [])


def test_both_ends_and_mistakes(run: Path) -> None:
    measure = Extremes(n=12, valid=20, truth="mean_acc", pairs=2, score="valid/cross_entropy")
    found = measure(run, Macro(), lambda *_: None)
    assert [name for name, _ in found.details["ends"]] == ["00000000", "22222222"]
    ends = measure.scores(run, np.array([[0] * 8, [2] * 8], dtype=np.int8), lambda *_: None)
    assert [found.values["smallest"], found.values["largest"]] == ends.tolist()
    assert len(found.details["mistakes"]) == 2
    for pair in found.details["mistakes"]:
        assert pair["truth"][0] > pair["truth"][1]
        assert pair["score"][0] < pair["score"][1]
    assert set(found.values) == set(measure.check(Macro()))
    plain = Extremes(n=3, valid=20)
    assert set(plain(run, Macro(), lambda *_: None).values) == set(plain.check(Macro()))
    with pytest.raises(InputError, match="unknown column"):
        Extremes(truth="mean").check(Macro())
