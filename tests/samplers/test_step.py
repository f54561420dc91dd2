import numpy as np

from supernetic.samplers.step import Draw, SampledPath, Step, batches_per_step, no_score, one
from supernetic.samplers.strict_fair import StrictFair
from supernetic.samplers.uniform import Uniform
from supernetic.spaces.macro import Macro


def test_defaults() -> None:
    path = SampledPath((0, 1))
    assert (path.target, path.regularise) == ("label", False)
    step = Step((path,))
    assert (step.fresh_batch, step.reduction, step.average_by_use) == (False, "mean", False)
    draw = Draw(np.random.default_rng(0))
    assert draw.score is no_score
    assert draw.score([(0,), (1,)]) == [0.0, 0.0]


def test_batches_per_step() -> None:
    assert batches_per_step(Uniform(), Macro()) == 1
    assert batches_per_step(StrictFair(), Macro()) == 1
    assert batches_per_step(StrictFair(fresh_batch=True), Macro()) == 3


def test_genes_are_plain_integers() -> None:
    arch = one(np.array([[1, 2]], dtype=np.int8))
    assert arch == (1, 2)
    assert all(type(g) is int for g in arch)
