"""Controls: what one would have had without a search.

    mobilenet       a MobileNetV2 scaled to the budget
    plain_network   a stack of 3x3 convolutions scaled to the budget
    resnet          the same stack as residual blocks
    random_at       a random network of the space at the same MACs
    largest         the largest network of the space that the constraints allow

Paper: Sandler et al., "MobileNetV2", arXiv 1801.04381, Table 2; He et al., "Deep residual learning for image
recognition", arXiv 1512.03385, for the residual blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from ..blueprint import Blueprint, Layer, halved, make_divisible
from ..costs.budget import budget_sampler, inside
from ..costs.macs import METRICS, add_up
from ..costs.table import LayerCost, costs_of
from ..errors import BudgetError, InputError
from ..families.resnet import Block
from ..objective import Constraint, show_quantity
from ..samplers.extremes import around, extremes
from ..space import Arch, Archs, SequentialSpace, Space

# expansion, channels, blocks, stride of the first block; the stem before them has 32 channels, stride 2; the head 1280
MOBILENET_STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
STEM_CHANNELS, HEAD_CHANNELS = 32, 1280
WIDTH_UNIT = 2**-20  # multipliers are searched in these steps; widths are rounded far more coarsely
MIN_WIDTH = 2**14  # units, a multiplier of 1/64: all widths are 8
MIN_CHANNELS = 4  # of the first stage of plain and residual networks
STAGE_CONVOLUTIONS = 2  # of a plain network; as many as a residual block has
MIN_STRIDED_RESOLUTION = 28  # pixels: from here on the stems of plain and residual networks halve the image
MIN_MAP_PIXELS = 4  # pixels
RANDOM_DRAWS, LARGEST_DRAWS = (50, 500, 5_000, 20_000), (5_000, 20_000)  # networks that are drawn until one will do

Feasible = Callable[[Archs], npt.NDArray[np.bool_]]
ByWidth = Callable[[int], Blueprint]  # a network by its width; MACs never fall with it
Stage = Callable[[Layer, int, int, int], list[Layer]]  # by the layer before it, its channels, stride and number


# --- networks of one shape, as wide as the budget allows --------------------------------------------------------------


def mobilenet(budget_macs: float, resolution: int, classes: int, in_channels: int = 3) -> Blueprint:
    """The widest MobileNetV2 within a budget of MACs, classifier included.

    Small images keep their size in the first layers; where even the narrowest such network is beyond the budget, in the
    last ones.

    Args:
        budget_macs: The budget.
        resolution: Of the images.
        classes: Number of classes.
        in_channels: Of the images.

    Returns:
        The network. A budget below the narrowest one is refused.
    """

    def by_width(units: int, early: bool) -> Blueprint:
        return mobilenet_v2(units * WIDTH_UNIT, resolution, classes, in_channels, early)

    late, early = (partial(by_width, early=early) for early in (False, True))
    fits = _macs(late(MIN_WIDTH)) <= budget_macs
    return _widest("MobileNetV2", late if fits else early, MIN_WIDTH, budget_macs)


def plain_network(budget_macs: float, resolution: int, classes: int, in_channels: int = 3) -> Blueprint:
    """The widest plain stack of 3x3 convolutions within a budget of MACs, classifier included.

    Every convolution has BN and ReLU. The stem halves images of 28 pixels or more. Stages have two convolutions each,
    and twice the channels of the stage before; all but the first halve the map, as long as 4 pixels are left.

    Args:
        budget_macs: The budget.
        resolution: Of the images.
        classes: Number of classes.
        in_channels: Of the images.

    Returns:
        The network. A budget below the narrowest one is refused.
    """
    network = partial(_staged, _plain_stage, resolution, classes, in_channels)
    return _widest("plain network", network, MIN_CHANNELS, budget_macs)


def resnet(budget_macs: float, resolution: int, classes: int, in_channels: int = 3) -> Blueprint:
    """The widest ResNet within a budget of MACs: `plain_network` with a basic block in place of each stage.

    Shortcuts are the identity, or 1x1 convolutions where the shape changes.

    Args:
        budget_macs: The budget.
        resolution: Of the images.
        classes: Number of classes.
        in_channels: Of the images.

    Returns:
        The network. A budget below the narrowest one is refused.
    """
    network = partial(_staged, _residual_stage, resolution, classes, in_channels)
    return _widest("ResNet", network, MIN_CHANNELS, budget_macs)


def _widest(what: str, network: ByWidth, narrowest: int, budget_macs: float) -> Blueprint:
    """The widest network within a budget; an error if there is none."""

    def fits(width: int) -> bool:
        return _macs(network(width)) <= budget_macs

    if not fits(narrowest):
        least = network(narrowest)
        raise BudgetError(
            f"no {what} for images of {least.resolution} pixels fits into {show_quantity(budget_macs)} MACs: "
            f"the narrowest has {show_quantity(_macs(least))}"
        )
    low, high = narrowest, 2 * narrowest
    while fits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return network(low)


def _staged(stage: Stage, resolution: int, classes: int, in_channels: int, width: int) -> Blueprint:
    """Stem, stages with twice the channels of the one before, global average pool, classifier."""
    stride = 2 if resolution >= MIN_STRIDED_RESOLUTION else 1
    out = halved(resolution, stride)
    layers = [Layer("stem", "conv", in_channels, width, resolution, out, 3, stride, act="relu")]
    layers += stage(layers[-1], width, 1, 1)
    while halved(layers[-1].resolution_out, 2) >= MIN_MAP_PIXELS:
        layers += stage(layers[-1], 2 * layers[-1].c_out, 2, layers[-1].stage + 1)
    c, resolution = layers[-1].c_out, layers[-1].resolution_out
    ends = Layer("head.pool", "gap", c, c, resolution, 1), Layer("classifier", "linear", c, classes, 1, 1)
    return Blueprint((*layers, *ends))


def _plain_stage(before: Layer, c: int, stride: int, stage: int) -> list[Layer]:
    layers: list[Layer] = []
    for i in range(STAGE_CONVOLUTIONS):
        resolution, s = before.resolution_out, stride if i == 0 else 1
        before = Layer(
            f"stage{stage}.{i}", "conv", before.c_out, c, resolution, halved(resolution, s), 3, s,
            act="relu", stage=stage,
        )  # fmt: skip
        layers.append(before)
    return layers


def _residual_stage(before: Layer, c: int, stride: int, stage: int) -> list[Layer]:
    return Block(f"stage{stage}", before, c, stride, stage).basic(project=True)


def mobilenet_v2(width: float, resolution: int, classes: int, in_channels: int = 3, early: bool = False) -> Blueprint:
    """MobileNetV2 by its width multiplier.

    Widths are rounded to multiples of 8 as the authors do it; the head keeps its 1280 channels below a multiplier of 1.
    Of the five halvings only as many are left as leave the last map with 4 x 4 pixels or more (three at 28 or 32
    pixels): the last ones, or with `early` the first ones, which makes a cheaper network.

    Args:
        width: The multiplier.
        resolution: Of the images.
        classes: Number of classes.
        in_channels: Of the images.
        early: Whether the first halvings are kept, not the last ones.

    Returns:
        The network.
    """
    return Blueprint(tuple(_mobilenet(width, resolution, classes, in_channels, early)))


def _mobilenet(width: float, resolution: int, classes: int, in_channels: int, early: bool) -> Iterator[Layer]:
    strides = [2, *(s for *_, s in MOBILENET_STAGES)]
    while _end(resolution, strides) < MIN_MAP_PIXELS and 2 in strides:
        places = [i for i, s in enumerate(strides) if s == 2]
        strides[places[-1 if early else 0]] = 1
    c, out = make_divisible(STEM_CHANNELS * width), halved(resolution, strides[0])
    yield Layer("stem", "conv", in_channels, c, resolution, out, 3, strides[0], act="relu6")
    resolution = out
    for stage, ((t, channels, blocks, _), first) in enumerate(zip(MOBILENET_STAGES, strides[1:], strict=True), 1):
        for i in range(blocks):
            c_out, stride = make_divisible(channels * width), first if i == 0 else 1
            out = halved(resolution, stride)
            shortcut = "identity" if stride == 1 and c == c_out else ""
            yield Layer(
                f"stage{stage}.{i}", "mbconv", c, c_out, resolution, out, 3, stride, t, c * t,
                act="relu6", shortcut=shortcut, stage=stage,
            )  # fmt: skip
            c, resolution = c_out, out
    head = make_divisible(HEAD_CHANNELS * max(1.0, width))
    yield Layer("head.conv", "conv", c, head, resolution, resolution, act="relu6")
    yield Layer("head.pool", "gap", head, head, resolution, 1)
    yield Layer("classifier", "linear", head, classes, 1, 1)


def _end(resolution: int, strides: Sequence[int]) -> int:
    """Resolution of the last map."""
    for stride in strides:
        resolution = halved(resolution, stride)
    return resolution


def _macs(blueprint: Blueprint) -> int:
    return add_up(blueprint)[0]


# --- networks of the space --------------------------------------------------------------------------------------------


def random_at(
    space: Space,
    macs: float,
    rng: np.random.Generator,
    *,
    tolerance: float = 0.05,
    where: Sequence[Constraint] = (),
    layer_cost: LayerCost | None = None,
    feasible: Feasible | None = None,
) -> Arch:
    """Draw a random network of about the given MACs, uniformly from those that satisfy all constraints.

    Args:
        space: The space.
        macs: The MACs.
        rng: Random numbers.
        tolerance: The share by which MACs may differ; it is doubled until there is a network.
        where: Constraints on costs.
        layer_cost: Measured latencies, for constraints on them.
        feasible: Says of many architectures which of them are allowed.

    Returns:
        The architecture.
    """
    if tolerance <= 0:
        raise InputError(f"the tolerance must be positive, got {tolerance}")
    allowed = _Allowed.by(space, where, layer_cost, feasible)
    while True:
        window = Constraint("macs", macs * (1 - tolerance), macs * (1 + tolerance))
        try:
            return _arch(allowed.draw(window, rng, RANDOM_DRAWS)[0])
        except InputError:
            if tolerance >= 1:
                raise
        tolerance = min(1.0, 2 * tolerance)


def largest(
    space: Space,
    where: Sequence[Constraint] = (),
    *,
    layer_cost: LayerCost | None = None,
    feasible: Feasible | None = None,
) -> Arch:
    """The network with the most MACs that satisfies all constraints.

    Networks are drawn from a window of MACs, and improved gene by gene; the window is raised above the best found so
    far until it is empty. Exact for limits on MACs alone where the sampler is; else the end may be missed by little.

    Args:
        space: The space.
        where: Constraints on costs.
        layer_cost: Measured latencies, for constraints on them.
        feasible: Says of many architectures which of them are allowed.

    Returns:
        The architecture.
    """
    allowed, rng = _Allowed.by(space, where, layer_cost, feasible), np.random.default_rng(0)
    top = extremes(space)[1]
    if len(allowed.of(np.array([top], dtype=np.int8))):
        return top
    window, best = Constraint("macs"), None
    while True:
        try:
            draws = allowed.draw(window, rng, LARGEST_DRAWS)
        except InputError:
            if best is None:
                raise
            return best
        best = _arch(draws[np.argmax(costs_of(space, draws))])
        while True:
            near = allowed.of(around(space, best))
            macs = costs_of(space, near)
            if macs.max() == macs[0]:  # the first is the network itself
                break
            best = _arch(near[np.argmax(macs)])
        window = Constraint("macs", low=float(macs[0]), low_open=True)


@dataclass(frozen=True)
class _Allowed:
    """The networks of a space that satisfy all constraints."""

    space: Space
    limits: tuple[Constraint, ...]  # on costs, by their short names
    layer_cost: LayerCost | None
    feasible: Feasible | None

    @classmethod
    def by(
        cls, space: Space, where: Sequence[Constraint], layer_cost: LayerCost | None, feasible: Feasible | None
    ) -> _Allowed:
        """Constraints that are not on costs are not looked at: they need an evaluation."""
        names = (*METRICS, *(() if layer_cost is None else (layer_cost.name,)))
        short = [replace(c, name=c.name.removeprefix("cost/")) for c in where]
        return cls(space, tuple(c for c in short if c.name in names), layer_cost, feasible)

    def of(self, archs: Archs) -> Archs:
        """Those among these."""
        for c in self.limits:
            archs = archs[inside(self.space, archs, c, self.layer_cost)]
        return archs if self.feasible is None or not len(archs) else archs[self.feasible(archs)]

    def draw(self, window: Constraint, rng: np.random.Generator, sizes: Sequence[int]) -> Archs:
        """Some of a window of MACs, uniformly; an `InputError` if draws of these sizes hold none."""
        within = replace(self, limits=(*self.limits, window))
        sampler = budget_sampler(self.space, within.limits, layer_cost=self.layer_cost)
        slow = 1 if isinstance(self.space, SequentialSpace) else 20  # without a table, costs take long
        for n in sizes:
            archs = within.of(sampler.propose(rng, -(-n // slow)))
            if len(archs):
                return archs
        limits = " and ".join(filter(None, map(str, within.limits))) or "all constraints"
        raise BudgetError(f"{self.space.name}: none of {sum(sizes) // slow:,} draws satisfies {limits}")


def _arch(row: npt.NDArray[np.int8]) -> Arch:
    genes: Arch = tuple(row.tolist())
    return genes
