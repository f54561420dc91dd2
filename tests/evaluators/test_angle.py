import math

import numpy as np
import pytest
import torch

from supernetic import catalog
from supernetic.errors import InputError
from supernetic.evaluators.angle import ANGLE, AngleEvaluator
from supernetic.space import Arch
from supernetic.supernets.supernet import Supernet


def moved(supernet: Supernet, seed: int = 1) -> Supernet:
    torch.manual_seed(seed)
    with torch.no_grad():
        for p in supernet.parameters():
            p.add_(torch.randn_like(p) * 0.1)
    return supernet


def by_hand(initial: Supernet, trained: Supernet, arch: Arch) -> float:
    """From the weights of the extracted networks, all in one vector."""
    before, after = (
        torch.cat([p.detach().double().flatten() for p in net.extract(arch).parameters() if p.ndim > 1])
        for net in (initial, trained)
    )
    return math.acos(float(torch.cosine_similarity(before, after, dim=0)))


@pytest.mark.parametrize(
    "name", ["macro:channels=4,resolution=8,head=16", "nasbench201:cells=1,channels=4,resolution=8", "shallow-wide"]
)
def test_equals_the_angle_between_extracted_networks(name: str) -> None:
    space = catalog.space(name)
    initial, trained = Supernet(space, seed=0), moved(Supernet(space, seed=0))
    evaluate = AngleEvaluator(initial, trained)
    archs: list[Arch] = [tuple(a) for a in space.sample(np.random.default_rng(0), 5).tolist()]
    for arch, found in zip(archs, evaluate(archs), strict=True):
        assert found[ANGLE] == pytest.approx(by_hand(initial, trained, arch), abs=1e-6)


def test_untrained_weights_have_no_angle() -> None:
    space = catalog.space("macro:channels=4,resolution=8,head=16")
    supernet = Supernet(space, seed=0)
    assert AngleEvaluator(supernet, supernet)([(0,) * 8])[0][ANGLE] == pytest.approx(0, abs=1e-6)


def test_needs_the_same_supernet() -> None:
    small, large = (Supernet(catalog.space(f"macro:channels={c},resolution=8,head=16"), seed=0) for c in (4, 8))
    with pytest.raises(InputError, match="two states of the same supernet"):
        AngleEvaluator(small, large)
