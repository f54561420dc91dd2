from math import log, nan

import numpy as np
import pytest

from supernetic.errors import InputError, UnknownNameError
from supernetic.ranking.combine import AZ_RANK, combine_ranks
from supernetic.ranking.correlation import count_pairs
from supernetic.ranking.ensemble import RankEnsemble

NAMES = ("valid/cross_entropy", "proxy/layers")


def networks(n: int) -> list[dict[str, float]]:
    rng = np.random.default_rng(0)
    return [{"valid/cross_entropy": float(rng.normal()), "proxy/layers": float(rng.integers(0, 6))} for _ in range(n)]


def test_among_themselves_references_are_ordered_as_by_a_vote() -> None:
    reference = networks(50)
    ballot = RankEnsemble.of(NAMES, reference)
    listed = combine_ranks([[-m[NAMES[0]] for m in reference], [m[NAMES[1]] for m in reference]])
    ranks = [ballot.rank(m) for m in reference]
    assert ranks == pytest.approx((listed - 1) / 49)
    assert min(ranks) >= 0
    assert max(ranks) <= 1


def test_by_az_nas_too() -> None:
    reference = networks(50)
    ballot = RankEnsemble.of(NAMES, reference, AZ_RANK)
    scores = [[-m[NAMES[0]] for m in reference], [m[NAMES[1]] for m in reference]]
    assert [ballot.rank(m) for m in reference] == pytest.approx(combine_ranks(scores, how=AZ_RANK))
    line = RankEnsemble.of(["a"], [{"a": float(x)} for x in range(5)], AZ_RANK)
    ranks = [line.rank({"a": x}) for x in (-1e9, -4, 0, 1.5, 4, 8, 1e9)]
    assert ranks == sorted(ranks)
    assert ranks[0] == pytest.approx(log(0.5 / 5), abs=1e-6)  # half a rank below the worst, and no further
    assert RankEnsemble.from_json(line.to_json()) == line


def test_other_networks_fall_in_between() -> None:
    reference, others = networks(300), networks(400)[300:]
    ballot = RankEnsemble.of(NAMES, reference)
    ranks = np.array([ballot.rank(m) for m in others])
    listed = combine_ranks([[-m[NAMES[0]] for m in others], [m[NAMES[1]] for m in others]])
    assert count_pairs(ranks, listed).tau() > 0.9


def test_beyond_the_references_order_is_kept() -> None:
    ballot = RankEnsemble.of(["a"], [{"a": float(x)} for x in range(5)])
    ranks = [ballot.rank({"a": x}) for x in (-1e9, -4, 0, 1.5, 4, 8, 1e9)]
    assert ranks == pytest.approx([-0.25, -0.125, 0, 0.375, 1, 1.125, 1.25])  # one voter cannot outweigh the others
    assert ranks == sorted(ranks)
    assert ballot.rank({"a": nan}) == 0


def test_reads_back_and_refuses_what_cannot_vote() -> None:
    ballot = RankEnsemble.of(NAMES, networks(10))
    assert RankEnsemble.from_json(ballot.to_json()) == ballot
    older = {name: list(values) for name, values in ballot.answers.items()}
    assert RankEnsemble.from_json(older) == ballot
    with pytest.raises(UnknownNameError, match="unknown way to rank among references 'log-rank'"):
        RankEnsemble.of(NAMES, networks(10), "log-rank")
    with pytest.raises(InputError, match="a cannot rank: it is the same for all 3"):
        RankEnsemble.of(["a"], [{"a": 1.0}] * 3)
    silent = RankEnsemble.of(["a", "b"], [{"a": 1.0, "b": float(x)} for x in range(3)])
    assert tuple(silent.answers) == ("b",)
    with pytest.raises(InputError, match="at least one metric"):
        RankEnsemble.of([], networks(3))
