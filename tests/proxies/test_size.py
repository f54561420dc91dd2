from __future__ import annotations

from collections.abc import Callable

from supernetic.costs import cost
from supernetic.proxies.probe import Probe
from supernetic.proxies.size import layers, live_macs, live_params
from supernetic.spaces.macro import Macro
from supernetic.spaces.nasbench201 import NASBench201

Look = Callable[..., Probe]
CELLS = NASBench201(cells=1, channels=8, resolution=8)


def test_where_all_is_live_they_are_the_costs(look: Look) -> None:
    probe = look(Macro().blueprint((0, 1, 2, 0, 0, 1, 2, 2)).layers, n=2)
    whole = cost(probe.blueprint)
    assert (live_macs(probe), live_params(probe)) == (whole.macs, whole.params)
    assert layers(probe) == 1 + 5 + 1  # stem, blocks, head; the first identity is a linear convolution


def test_what_is_dead_does_not_count(look: Look) -> None:
    direct, more = look((0, 0, 0, 3, 0, 0)), look((3, 0, 2, 3, 0, 0))
    assert cost(more.blueprint).macs > cost(direct.blueprint).macs
    for size in (live_macs, live_params, layers):
        assert size(more) == size(direct)
    assert live_macs(direct) == cost(direct.blueprint).macs
    assert layers(direct) == 3 * 1 + 2 + 1  # convolutions, reductions, the norm before the classifier
    assert live_macs(look((0,) * 6)) == layers(look((0,) * 6)) == 0
