"""What every supernet must keep; `supernetic.testing.check_supernet` runs it on anyone's."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from ..costs.macs import cost
from ..errors import ArchError
from ..nn.norm import batch_statistics
from ..space import Arch, Space
from .supernet import Supernet

BATCH_IMAGES = 2


def contract_violations(supernet: Supernet, *, n: int = 4, seed: int = 0) -> Iterator[str]:
    """Check what every supernet must keep, on a copy.

    Args:
        supernet: The supernet.
        n: Random architectures to check, beside the extremes.
        seed: Of the architectures and of the numbers that they are checked with.

    Yields:
        One sentence for each rule that is broken.
    """
    supernet = deepcopy(supernet)
    space, rng = supernet.space, torch.Generator().manual_seed(seed)
    _stir(supernet, rng)
    before = deepcopy(supernet.state_dict())
    cases = []
    for arch in (*_extremes(space), *map(tuple, space.sample(np.random.default_rng(seed), n).tolist())):
        image = supernet.blueprint(arch).layers[0]
        x = torch.randn(BATCH_IMAGES, image.c_in, image.resolution, image.resolution, generator=rng)
        cases.append((arch, x, f"{space.name} {space.format(arch)}"))
    for arch, x, what in cases:
        yield from (f"{what}: {flaw}" for flaw in _costs(supernet, arch, x))
        yield from (f"{what}: {flaw}" for flaw in _evaluation(supernet, arch, x))
    for name, tensor in supernet.state_dict().items():
        if not torch.equal(before[name], tensor):
            yield f"{space.name}: evaluation changes {name}"
    for arch, x, what in cases:
        yield from (f"{what}: {flaw}" for flaw in _training(supernet, arch, x))


@torch.no_grad()
def _stir(supernet: Supernet, rng: torch.Generator) -> None:
    """Different numbers in every channel: fresh BNs are all alike, and would hide that the wrong ones are used."""
    for name, tensor in supernet.state_dict().items():
        if tensor.ndim == 1:
            positive = name.endswith(("norm.weight", "running_var"))
            tensor.copy_(torch.rand(tensor.shape, generator=rng) + (0.5 if positive else -0.5))


def _extremes(space: Space) -> list[Arch]:
    """First and last options throughout, where these are valid."""
    extremes = []
    for arch in (tuple(0 for _ in space.choices), tuple(len(c.options) - 1 for c in space.choices)):
        try:
            extremes.append(space.check(arch))
        except ArchError:
            continue
    return extremes


def _costs(supernet: Supernet, arch: Arch, x: Tensor) -> Iterator[str]:
    """Built and extracted networks cost what their blueprints say."""
    networks = {supernet.space.blueprint(arch): supernet.build(arch, seed=0)}
    networks.setdefault(supernet.blueprint(arch), supernet.extract(arch))  # with stabilisers another
    for blueprint, network in networks.items():
        own = cost(blueprint)
        macs, params = macs_of(network.eval(), x[:1]), sum(p.numel() for p in network.parameters())
        if (macs, params) != (own.macs, own.params):
            yield f"a network of {macs} MACs and {params} parameters, its blueprint has {own.macs} and {own.params}"


def macs_of(network: nn.Module, x: Tensor) -> int:
    """Multiply-accumulates, counted while the network runs."""
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        network(x)
    return int(counter.get_total_flops()) // 2


@torch.no_grad()
def _evaluation(supernet: Supernet, arch: Arch, x: Tensor) -> Iterator[str]:
    """The law, with running and with batch statistics."""
    supernet.eval()
    for slice_side in supernet.slice_sides:
        network = supernet.extract(arch, slice_side)
        if not _same(supernet(x, arch, slice_side=slice_side), network(x)):
            yield f"supernet and extracted network disagree in evaluation ({slice_side})"
        with batch_statistics(supernet), batch_statistics(network):
            if not _same(supernet(x, arch, slice_side=slice_side), network(x)):
                yield f"supernet and extracted network disagree on batch statistics ({slice_side})"


def _training(supernet: Supernet, arch: Arch, x: Tensor) -> Iterator[str]:
    """The law in training; and shared weights get the gradients that the network's own get, all others none."""
    supernet.train()
    for slice_side in supernet.slice_sides:
        network = supernet.extract(arch, slice_side)
        supernet.zero_grad(set_to_none=True)
        shared, own = supernet(x, arch, slice_side=slice_side), network(x)
        if not _same(shared, own):
            yield f"supernet and extracted network disagree in training ({slice_side})"
        shared.square().sum().backward()
        own.square().sum().backward()
        got, expected = _gradient(supernet), _gradient(network)
        if abs(got - expected) > 1e-4 * expected:
            yield f"the network's gradient has the squared norm {expected:g}, the supernet's {got:g} ({slice_side})"


def _gradient(model: nn.Module) -> float:
    return sum(float(p.grad.double().square().sum()) for p in model.parameters() if p.grad is not None)


def _same(a: Tensor, b: Tensor) -> bool:
    return bool((a - b).abs().max() <= 1e-4 * b.abs().max())
