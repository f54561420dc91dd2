from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm, rankdata

from supernetic import catalog
from supernetic.costs import costs_of
from supernetic.errors import InputError, UnknownNameError
from supernetic.predictors import Features, normal_scores
from supernetic.space import Archs
from supernetic.spaces.macro import Macro
from supernetic.spaces.nasbench201 import NASBench201

SMALL = NASBench201(cells=1, channels=4, resolution=8)


def draw(space: object, n: int, seed: int = 0) -> Archs:
    archs: Archs = space.sample(np.random.default_rng(seed), n)  # type: ignore[attr-defined]
    return archs


def test_normal_scores() -> None:
    values = np.array([3.0, 1.0, 1.0, 7.0, -2.0])
    assert normal_scores(np.sort(values), values) == pytest.approx(norm.ppf((rankdata(values) - 0.5) / 5))
    outside = normal_scores(np.arange(4.0), np.array([-9.0, 1.5, 9.0]))
    assert outside == pytest.approx([norm.ppf(1 / 8), 0, norm.ppf(7 / 8)])


@pytest.mark.parametrize("name", ["macro", "nasbench101", "attentive", "scalenet", "efficientnet", "deep-narrow"])
def test_any_space_can_be_described(name: str) -> None:
    space = catalog.space(name)
    x = Features(space, reference=draw(space, 40))(draw(space, 10, seed=1))
    assert len(x) == 10
    assert all(b.shape[0] == 10 and np.isfinite(b).all() for b in (*x.blocks.values(), x.prior))


def test_blocks_have_unit_size_and_the_prior_goes_by_macs_and_depth() -> None:
    archs = np.unique(draw(SMALL, 300), axis=0)
    features = Features(SMALL, reference=archs)
    x = features(archs)
    assert set(x.blocks) == {"layers", "graph", "cost"}
    for block in (*x.blocks.values(), x.prior[:, None]):
        assert (block**2).sum(axis=1).mean() == pytest.approx(1)
    ends = features(np.array([SMALL.parse("all-none"), SMALL.parse("all-conv3x3")], dtype=np.int8)).prior
    assert ends[0] <= x.prior.min()
    assert ends[1] >= x.prior.max()


def test_what_says_the_same_is_kept_once() -> None:
    """Cells repeat one another, in any number of them; dead operations make no difference to the graph."""
    one, three = (Features(NASBench201(cells=n), reference=draw(SMALL, 100)) for n in (1, 3))
    assert {b: len(n) for b, n in one.blocks.items()} == {b: len(n) for b, n in three.blocks.items()}
    dead = [SMALL.parse(f"|none~0|+|none~0|{op}~1|+|skip_connect~0|{op}~1|none~2|") for op in SMALL.operations]
    x = Features(SMALL, reference=draw(SMALL, 300))(np.array(dead, dtype=np.int8))
    assert np.ptp(x.blocks["graph"], axis=0).max() == np.ptp(x.blocks["layers"], axis=0).max() == 0


def test_encodings_of_one_network_are_alike_and_rows_do_not_see_their_company() -> None:
    space = Macro()
    features = Features(space)
    twins = np.array([space.parse("11012020"), space.parse("11012002")], dtype=np.int8)
    assert space.canonical(tuple(twins[0].tolist())) == space.canonical(tuple(twins[1].tolist()))
    x = features(twins)
    again = Features(space)(np.concatenate([draw(space, 20), twins]))[np.array([20, 21])]
    for name, block in x.blocks.items():
        assert np.array_equal(block[0], block[1])
        assert np.array_equal(block, again.blocks[name])
    assert np.array_equal(x.prior, again.prior)


def test_votes_are_a_block_and_part_of_the_prior() -> None:
    space = Macro()
    votes = {"proxy/cheap": lambda archs: -costs_of(space, archs).astype(float)}
    archs = draw(space, 50)
    x = Features(space, extra=votes, prior=["proxy/cheap"])(archs)
    assert x.blocks["extra"].shape == (50, 1)
    assert np.corrcoef(rankdata(x.prior), rankdata(-costs_of(space, archs)))[0, 1] > 0.999
    assert Features(space, extra=votes).prior[-1] == "proxy/cheap"


def test_no_vote_is_the_worst_vote() -> None:
    space = Macro()
    features = Features(space, extra={"proxy/some": lambda a: np.where(a[:, 0] == 0, np.nan, a[:, 0])})
    x = features(draw(space, 30))
    worst = draw(space, 30)[:, 0] == 0
    assert x.blocks["extra"][worst].max() < x.blocks["extra"][~worst].min()


def test_refusals() -> None:
    space = Macro()
    with pytest.raises(UnknownNameError, match="column 'live mac'"):
        Features(space, prior=["live mac"])
    with pytest.raises(InputError, match="proxy/odd must give one number per architecture"):
        Features(space, extra={"proxy/odd": lambda a: np.zeros(3)})
    with pytest.raises(InputError, match="networks that differ"):
        Features(space, reference=np.zeros((5, 8), dtype=np.int8))
