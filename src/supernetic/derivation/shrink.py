"""A smaller network from a trained one: blocks left out or narrowed where the maps that count change least.

Paper: Cai et al., "Once-for-all", arXiv 1908.09791, section 3.3: a smaller network keeps the most important channels of
a larger one.
Differences: no supernet is trained. Every way of cutting one block (hidden channels kept, or the block left out) is
measured by how much it changes the maps; the changes of several blocks are taken to add up, and the least sum under the
limit of MACs is found exactly, up to the unit that MACs are counted in. Channels are ordered by what they add to the
output on these images, not by the weights alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from ..arrays import Floats
from ..blueprint import Blueprint, Layer
from ..costs.macs import add_up
from ..errors import InputError
from ..nn.network import Network, with_weights
from ..nn.norm import recalibrate
from ..nn.run import ACTIVATIONS

KEPT = (0.75, 0.5, 0.25)  # shares of a block's hidden channels that may be kept
DIVISOR = 8  # of the number of channels
UNITS = 2000  # into which the limit of MACs is divided

Weights = dict[str, Tensor]
Places = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Cut:
    """A way of cutting one block.

    Args:
        layer: The block's name.
        hidden: Hidden channels that are kept, the most important first; none if the block is left out.
        macs: MACs that are saved.
        change: How much the maps change: squared error over the square of the map, summed over maps.
    """

    layer: str
    hidden: tuple[int, ...]
    macs: int
    change: float

    def __str__(self) -> str:
        return f"{self.layer}: {f'{len(self.hidden)} hidden channels' if self.hidden else 'left out'}"


@torch.no_grad()
def shrink(network: Network, images: Tensor, macs: float, maps: Sequence[str]) -> tuple[Network, list[Cut]]:
    """Cut inverted bottlenecks until a network has no more than some MACs.

    Args:
        network: The network; it is not changed.
        images: Some images that are like those that it will see, prepared for it.
        macs: The limit, at the resolution of the network's blueprint.
        maps: Names of layers whose outputs are to stay as they are.

    Returns:
        The smaller network, its BN statistics renewed on these images, and what was cut.
    """
    network = network.eval()
    before, _ = add_up(network.blueprint)
    if macs >= before:
        return network, []
    truth = _maps(network, images, maps)
    orders = _orders(network, images)
    options = {
        layer.name: list(_cuts(network, layer, orders[layer.name], images, truth))
        for layer in network.blueprint
        if layer.name in orders
    }
    chosen = _choose(options, before - macs)
    if chosen is None:
        most = sum(max((c.macs for c in cuts), default=0) for cuts in options.values())
        raise InputError(f"the network cannot be shrunk to {macs:,.0f} MACs: at least {before - most:,} are left")
    smaller = _cut_network(network, {c.layer: c for c in chosen})
    recalibrate(smaller, [images])
    return smaller, chosen


def _maps(network: Network, images: Tensor, names: Sequence[str]) -> dict[str, Tensor]:
    return {layer.name: y for layer, y in network.trace(images) if layer.name in names}


def _orders(network: Network, images: Tensor) -> dict[str, list[int]]:
    """By block: its hidden channels, those that add most to its output first."""
    seen: dict[str, Tensor] = {}
    blocks = [x for x in network.blueprint if x.kind == "mbconv" and x.expansion != 1]
    hooks = [network.units(x)["depthwise"].register_forward_hook(_keep_power(seen, x)) for x in blocks]
    try:
        network(images)
    finally:
        for hook in hooks:
            hook.remove()
    orders = {}
    for layer in blocks:
        project = network.units(layer)["project"].op
        assert isinstance(project, nn.Conv2d)
        worth = seen[layer.name] * project.weight.flatten(1).norm(dim=0)
        orders[layer.name] = [int(i) for i in worth.argsort(descending=True, stable=True)]
    return orders


def _keep_power(seen: dict[str, Tensor], layer: Layer) -> Callable[..., None]:
    act = ACTIVATIONS[layer.act]

    def hook(_: nn.Module, __: object, y: Tensor) -> None:
        seen[layer.name] = act(y.clone()).square().mean((0, 2, 3)).sqrt()

    return hook


def _cuts(
    network: Network, layer: Layer, order: list[int], images: Tensor, truth: Mapping[str, Tensor]
) -> Iterator[Cut]:
    """All ways of cutting a block, with what they change."""
    whole, _ = add_up(network.blueprint)
    ways = [tuple(order[: max(DIVISOR, round(k * layer.hidden / DIVISOR) * DIVISOR)]) for k in KEPT]
    named = {name for other in network.blueprint for name in other.inputs}
    if layer.shortcut == "identity" and layer.name not in truth and layer.name not in named:
        ways.append(())
    for hidden in ways:
        if len(hidden) < layer.hidden:
            smaller = _cut_network(network, {layer.name: Cut(layer.name, hidden, 0, 0.0)})
            found = _maps(smaller, images, list(truth))
            change = sum(float((found[n] - t).square().sum() / t.square().sum()) for n, t in truth.items())
            yield Cut(layer.name, hidden, whole - add_up(smaller.blueprint)[0], change)


def _choose(options: Mapping[str, Sequence[Cut]], saving: float) -> list[Cut] | None:
    """At most one cut per block that save enough together, with the least sum of changes; None if none do."""
    unit = saving / UNITS
    least = np.full(UNITS + 1, np.inf)  # by units saved, the last for all that is enough
    least[0] = 0.0
    came: list[tuple[list[Cut | None], Places, Places]] = []
    for cuts in options.values():
        ways: list[Cut | None] = [None, *cuts]
        sums, sources = zip(*(_moved(least, cut, unit) for cut in ways), strict=True)
        best, at = np.argmin(sums, axis=0), np.arange(UNITS + 1)
        least = np.array(sums)[best, at]
        came.append((ways, best, np.array(sources)[best, at]))
    if not np.isfinite(least[UNITS]):
        return None
    chosen, place = [], UNITS
    for ways, best, source in reversed(came):
        cut, place = ways[best[place]], int(source[place])
        if cut is not None:
            chosen.append(cut)
    return chosen[::-1]


def _moved(least: Floats, cut: Cut | None, unit: float) -> tuple[Floats, Places]:
    """Sums by units saved if a cut is taken, and how many units were saved before it."""
    at = np.arange(UNITS + 1)
    if cut is None:
        return least, at
    step = min(UNITS, int(cut.macs / unit))
    sums, source = np.full(UNITS + 1, np.inf), at - step
    sums[step:] = least[: UNITS + 1 - step] + cut.change
    last = UNITS - step + int(np.argmin(least[UNITS - step :]))  # what is more than enough ends in the last place
    sums[UNITS], source[UNITS] = least[last] + cut.change, last
    return sums, source


def _cut_network(network: Network, cuts: Mapping[str, Cut]) -> Network:
    """The network with its blocks cut."""
    layers: list[Layer] = []
    weights: Weights = dict(network.state_dict())
    for layer in network.blueprint:
        cut = cuts.get(layer.name)
        if cut is None:
            layers.append(layer)
        elif cut.hidden:
            kept = torch.tensor(cut.hidden)
            layers.append(layer._replace(hidden=len(kept)))
            weights |= _narrowed(layer, weights, kept)
        else:
            weights = {n: t for n, t in weights.items() if not n.startswith(f"{layer.name}.")}
    return with_weights(Blueprint(tuple(layers)), weights)


def _narrowed(layer: Layer, weights: Mapping[str, Tensor], kept: Tensor) -> Weights:
    """The tensors of a block with some of its hidden channels: outputs of some convolutions, inputs of others."""
    found = {}
    for name, tensor in weights.items():
        role = name.removeprefix(f"{layer.name}.").partition(".")[0]
        if not name.startswith(f"{layer.name}.") or not tensor.ndim:
            continue
        if role in ("expand", "depthwise", "excite"):
            found[name] = tensor[kept]
        elif role in ("project", "squeeze") and tensor.ndim > 1:
            found[name] = tensor[:, kept]
    return found
