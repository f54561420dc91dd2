"""Before a search writes anything: check the images, choose a space that fits them and the budget, check the budget."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from math import inf, sqrt
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ... import catalog
from ...costs import METRICS, costs_of
from ...costs.budget import ADDITIVE_METRICS, BudgetSampler, budget_sampler, cost_constraints, window_of
from ...costs.graph import cost_graph_of
from ...costs.macs import cost
from ...datasets.check import report_on
from ...errors import DataError, InputError
from ...objective import Constraint, combine, show_quantity
from ...searchers.grid import enumerate_archs
from ...space import Arch, Archs, SequentialSpace, Space
from ..train.fit_space import fit_space

if TYPE_CHECKING:
    from ...datasets import Dataset

AUTO = "auto"
SMALL_RESOLUTION = 64  # pixels: images up to this size need no early sub-sampling
MIN_RESOLUTION = 16  # pixels: below it, three strides leave next to nothing
MACRO_STEM_CHANNELS = (4, 6, 8, 10, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64)  # sizes of `macro`
HEAD_CHANNEL_RATIO = 40  # channels of the head per channel of the stem, as in the benchmark
SCARLET_SIZES = (  # resolution and width of `scarlet-s1`, which grow in turns
    (64, 0.25), (64, 0.35), (64, 0.5), (96, 0.35), (96, 0.5), (128, 0.5), (160, 0.5),
    (160, 0.75), (192, 0.75), (224, 0.75), (224, 1.0),
)  # fmt: skip
HOURLY_MEDIAN_MACS = 8e6  # of a space that a CPU can search in an hour: a judgement, see docs/decisions/0006-plan.md
GPU_SPEEDUP = 30  # over a CPU
MIN_SHARE_BELOW = 0.7  # of the networks that should satisfy the upper limits
MIN_SHARE_ABOVE = 0.2  # of the networks that should satisfy the lower limits
MIXED_CHANNELS = (4, 8, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96)  # of the first stage of `mixed`
MIXED_SIZES = (  # resolution and channels of `mixed` for larger images, which grow in turns
    (64, 4), (64, 8), (64, 12), (64, 16), (96, 12), (96, 16), (128, 16), (128, 20), (160, 20), (160, 24), (192, 24),
    (224, 24), (224, 32), (224, 48), (224, 64),
)  # fmt: skip
RESNET_REACH = 1.25  # times the upper limits: the cost of the ResNet of `mixed` by which it is sized, at most
MACS_PER_SECOND = 1e10  # that two processors train with, about
WANTED_EPOCHS = 10  # of the recommended model, where the limits leave a choice of the size
LARGEST_TIMED_RESOLUTION, TIMED_MACS_PER_PIXEL, TIMED_BATCH_IMAGES, TIMED_S = 64, 3000, 64, 0.5
SAMPLED_ARCHS = 2000  # by which the costs of a space are judged
MAX_LISTED_ARCHS = 20_000  # encodings up to which networks are counted one by one
MAX_TRIALS = 1000  # draws, tenfold, after which a space that can only be sampled counts as outside the budget
SMALL_SPLIT_IMAGES = 500  # below this, a note states the uncertainty of accuracies
EXAMPLE_ACCURACY = 90.0  # percent, for which that note states it


# --- images -----------------------------------------------------------------------------------------------------------


def check_images(dataset: Dataset) -> tuple[str, ...]:
    """Check whether a search on these images is worthwhile.

    Args:
        dataset: The images. An empty validation or test split is refused.

    Returns:
        Notes on what is odd about the images, and on splits too small for certain accuracies.
    """
    check_splits(dataset)
    notes = list(report_on(dataset).notes)
    for split in ("valid", "test"):
        n = len(dataset.splits[split])
        if n < SMALL_SPLIT_IMAGES:
            error = 1.96 * sqrt(EXAMPLE_ACCURACY * (100 - EXAMPLE_ACCURACY) / n)
            accuracy = f"an accuracy of {EXAMPLE_ACCURACY:.0f} %"
            notes.append(f"the split {split} has {n} images: {accuracy} is uncertain by {error:.1f} points")
    return tuple(notes)


def check_splits(dataset: Dataset) -> None:
    """Refuse data without validation or test images; nothing need be decoded for that.

    Args:
        dataset: The images, or their outline.
    """
    for split, use in (("valid", "to choose architectures by"), ("test", "to test the models on")):
        if not len(dataset.splits[split]):
            raise DataError(
                f"{dataset.source}: the split {split} is empty, a search needs images {use}; "
                f"there are {len(dataset.images)} images of {len(dataset.classes)} classes"
            )


# --- the space --------------------------------------------------------------------------------------------------------


def choose_space(
    dataset: Dataset,
    where: Sequence[Constraint] = (),
    requested: str | Space = AUTO,
    *,
    minutes: float | None = None,
    device: str = "cpu",
    image_size: int | None = None,
) -> tuple[Space, str, tuple[str, ...]]:
    """Choose the space to search.

    Within a time limit on a CPU, `auto` times how fast a plain stack of convolutions and inverted bottlenecks of as
    many MACs are trained. Where the plain stack is faster, it takes `mixed`, which has both. Otherwise it takes the
    blocks of NAS-Bench-Macro for images of up to 64 pixels, and SCARLET's S1 for larger ones. It takes the largest size
    at which enough networks satisfy the upper limits and that can be trained in the time. Lower limits may require a
    larger one. Any other space is completed from the data.

    Args:
        dataset: The images.
        where: Limits; those on costs decide the size.
        requested: A space, its text, or `auto`.
        minutes: The time; an hour by default.
        device: `cpu` or `cuda`, which trains larger networks in the same time.
        image_size: The resolution that `auto` must keep; by default larger images may be made smaller.

    Returns:
        The space, its text, and the reasons for it.
    """
    if isinstance(requested, Space) or requested != AUTO:
        space, notes = fit_space(requested, dataset)
        return space, space.name if isinstance(requested, Space) else requested, tuple(notes)
    if image_size is not None and image_size < MIN_RESOLUTION:
        raise InputError(f"networks of the automatic spaces see {MIN_RESOLUTION} pixels or more, got {image_size}")
    plain = ""
    if minutes is not None and device == "cpu":
        plain = _why_plain(dataset)
    kept = image_size is not None
    texts, kind = _mixed_sizes(dataset, plain, kept) if plain else _sizes(dataset, kept)
    spaces = [catalog.space(text) for text in texts]
    if plain and minutes is not None:
        affordable_macs = MACS_PER_SECOND * 60 * minutes / len(dataset.splits["train"]) / WANTED_EPOCHS
        at, reason = _fitting_size(spaces, cost_limits(where), affordable_macs, by_hand=True)
    else:
        affordable_macs = HOURLY_MEDIAN_MACS * sqrt((minutes or 60) / 60) * (GPU_SPEEDUP if device == "cuda" else 1)
        at, reason = _fitting_size(spaces, cost_limits(where), affordable_macs)
    space = spaces[at]
    low, high = _range(space, "macs")
    median = float(np.median(costs_of(space, _draw(space))))
    costs = f"{show_quantity(low)} to {show_quantity(high)} MACs, median {show_quantity(median)}"
    return space, texts[at], (kind, f"{reason}: {costs}")


def _sizes(dataset: Dataset, kept: bool) -> tuple[list[str], str]:
    """Texts of spaces for the images, from small to large, and what they are; `kept`: at the images' resolution."""
    classes, resolution, channels = len(dataset.classes), dataset.resolution, dataset.channels
    rest = f"classes={classes},in_channels={channels}"
    if resolution <= SMALL_RESOLUTION:
        enlarged = max(resolution, MIN_RESOLUTION)
        resized = "" if enlarged == resolution else f", enlarged to {enlarged}x{enlarged}"
        heads = {c: max(HEAD_CHANNEL_RATIO * c, min(classes, HEAD_CHANNEL_RATIO * 32)) for c in MACRO_STEM_CHANNELS}
        return (
            [f"macro:channels={c},head={heads[c]},resolution={enlarged},{rest}" for c in MACRO_STEM_CHANNELS],
            f"macro, eight inverted bottlenecks or skips, suits small images: {resolution}x{resolution}{resized}",
        )
    sizes = [(s, w) for s, w in SCARLET_SIZES if s <= resolution]
    resized = f", resized to between 64 and {sizes[-1][0]} pixels"
    if kept:
        sizes, resized = [(resolution, w) for w in sorted({w for _, w in SCARLET_SIZES})], ""
    return (
        [f"scarlet-s1:resolution={s},width={w},{rest}" for s, w in sizes],
        f"scarlet-s1, nineteen inverted bottlenecks or skips with early sub-sampling, suits larger images: "
        f"{resolution}x{resolution}{resized}",
    )


def _why_plain(dataset: Dataset) -> str:
    """Numbers that say that plain convolutions are trained faster than inverted bottlenecks; empty if they are not."""
    from ...networks.controls import mobilenet, plain_network
    from ..glance import pass_seconds

    resolution = min(dataset.resolution, LARGEST_TIMED_RESOLUTION)
    shape = resolution, len(dataset.classes), dataset.channels
    budget = TIMED_MACS_PER_PIXEL * resolution**2
    networks = plain_network(budget, *shape), mobilenet(budget, *shape)
    plain, bottlenecks = (TIMED_BATCH_IMAGES / pass_seconds(n, TIMED_BATCH_IMAGES, TIMED_S) for n in networks)
    if plain <= bottlenecks:
        return ""
    return f"{plain:,.0f} images/s are trained on by a plain stack, {bottlenecks:,.0f} by bottlenecks of as many MACs"


def _mixed_sizes(dataset: Dataset, why: str, kept: bool) -> tuple[list[str], str]:
    """Texts of the space `mixed`, from small to large, and why it suits this machine; `kept`: the resolution."""
    classes, channels = len(dataset.classes), dataset.channels
    resolution = max(dataset.resolution, MIN_RESOLUTION)
    sizes = [(r, c) for r, c in MIXED_SIZES if r <= resolution]
    if resolution <= SMALL_RESOLUTION or kept:
        sizes = [(resolution, c) for c in MIXED_CHANNELS]
    resized = "" if resolution == dataset.resolution else f", images enlarged to {resolution}x{resolution}"
    return (
        [f"mixed:channels={c},resolution={r},classes={classes},in_channels={channels}" for r, c in sizes],
        f"mixed, stages of plain, residual or bottleneck blocks, suits this machine: {why}{resized}",
    )


def _fitting_size(
    spaces: Sequence[Space],
    limits: Sequence[Constraint],
    affordable_macs: float,
    by_hand: bool = False,
) -> tuple[int, str]:
    """The largest space that fits the budget and the time, else the smallest; and which of the two decided.

    Whether a space fits is judged by its networks at random; or, `by_hand`, by its ResNet with one block a stage.
    """
    uppers = [dataclasses.replace(c, low=-inf, low_open=False) for c in limits if c.high < inf]
    lowers = [dataclasses.replace(c, high=inf, high_open=False) for c in limits if c.low > -inf]
    if by_hand:
        typical = [_resnet_like(s) for s in spaces]  # one each: a table of the whole space would take longer
        below = [i for i, s in enumerate(spaces) if _reaches(s, typical[i], uppers)]
        affordable = [i for i, s in enumerate(spaces) if _cost(s, typical[i], "macs") <= affordable_macs]
    else:
        below = [i for i, s in enumerate(spaces) if share_within(s, uppers) >= MIN_SHARE_BELOW]
        affordable = [i for i, s in enumerate(spaces) if np.median(costs_of(s, _draw(s))) <= affordable_macs]
    above = [i for i, s in enumerate(spaces) if share_within(s, lowers) >= MIN_SHARE_ABOVE]
    by_budget, by_time = max(below, default=0), max(affordable, default=0)
    at = max(min(above, default=len(spaces) - 1), min(by_budget, by_time))
    if at > min(by_budget, by_time):
        return at, f"sized so that {limits_text(lowers)} leaves a choice"
    if uppers and by_budget <= by_time:
        fitting = "a plain ResNet of it comes close to" if by_hand else "most networks satisfy"
        return at, f"sized so that {fitting} {limits_text(uppers)}"
    beyond = f", smaller than {limits_text(uppers)} allows" if uppers else ""
    return at, f"sized for the available time{beyond}"


def _resnet_like(space: Space) -> Arch:
    """The architecture of `mixed` with a stem of stride 2 and one residual block of the base width in every stage."""
    stages = len(space.choices) // 3
    return space.parse("-".join(["s2", *["r1.0x1"] * stages]))


def share_within(space: Space, limits: Sequence[Constraint]) -> float:
    """Estimate which share of a space's networks satisfy limits.

    Args:
        space: The space.
        limits: On costs; all must hold.

    Returns:
        The share of a sample.
    """
    return float(_inside(space, _draw(space), limits).mean())


def _draw(space: Space) -> Archs:
    return space.sample(np.random.default_rng(0), SAMPLED_ARCHS)


def limits_text(limits: Iterable[Constraint]) -> str:
    """Name limits in a sentence.

    Args:
        limits: The limits.

    Returns:
        Such as `macs<=3M and params<=100K`.
    """
    return " and ".join(str(c) for c in limits)


# --- the budget -------------------------------------------------------------------------------------------------------


def check_budget(space: Space, where: Iterable[Constraint]) -> tuple[str, ...]:
    """Check whether a space has networks within a budget.

    Args:
        space: The space.
        where: Limits; only those on costs count. If no network satisfies them, the error says why.

    Returns:
        Notes: limits that exclude nothing, and how many networks satisfy them all, if they could be counted.
    """
    limits = cost_limits(where)
    if not limits:
        return ()
    sampler = _sampler(space, limits)
    sampler.sample(np.random.default_rng(0), 1)
    notes = []
    for c in limits:
        low, high = _range(space, c.name)
        if c.holds(low) and c.holds(high):
            notes.append(
                f"{c} excludes no network: {c.name} of {space.name} run from {show_quantity(low)} to "
                f"{show_quantity(high)}"
            )
    count = count_networks(space, limits)
    if count is not None:
        notes.append(f"{count:,} {'network satisfies' if count == 1 else 'networks satisfy'} {limits_text(limits)}")
    return tuple(notes)


def count_networks(space: Space, where: Iterable[Constraint] = ()) -> int | None:
    """Count the different networks that satisfy limits on costs.

    Args:
        space: The space.
        where: Limits; only those on costs count.

    Returns:
        The number; None if there are too many to list.
    """
    limits = cost_limits(where)
    if space.size <= MAX_LISTED_ARCHS:
        different = {space.canonical(a) for a in enumerate_archs(space, MAX_LISTED_ARCHS)}
        return int(_inside(space, np.array(sorted(different), dtype=np.int8), limits).sum())
    count = _sampler(space, limits).count
    return count[1] if count is not None and count[1] <= MAX_LISTED_ARCHS else None


def cost_limits(where: Iterable[Constraint]) -> list[Constraint]:
    """Pick the limits that need no measurement.

    Args:
        where: Limits on any metrics.

    Returns:
        Those on costs, one per cost.
    """
    merged = combine(where).values()
    return cost_constraints(c for c in merged if c.name.removeprefix("cost/") in METRICS)


def _sampler(space: Space, limits: Sequence[Constraint]) -> BudgetSampler:
    sampler = budget_sampler(space, limits)
    return sampler if isinstance(space, SequentialSpace) else dataclasses.replace(sampler, cap=MAX_TRIALS)


def _inside(space: Space, archs: Archs, limits: Sequence[Constraint]) -> npt.NDArray[np.bool_]:
    """Which architectures keep the limits."""
    inside = np.ones(len(archs), dtype=bool)
    for c in limits:
        low, high = window_of(c)
        value = costs_of(space, archs, c.name)
        inside &= (value >= low) & (value <= high)
    return inside


def _reaches(space: Space, arch: Arch, limits: Sequence[Constraint]) -> bool:
    """Whether an architecture keeps the limits, times `RESNET_REACH`."""
    return all(_cost(space, arch, c.name) <= RESNET_REACH * window_of(c)[1] for c in limits)


def _cost(space: Space, arch: Arch, metric: str) -> int:
    """Of one architecture, from its blueprint."""
    return int(getattr(cost(space.blueprint(arch)), metric.removeprefix("cost/")))


def _range(space: Space, metric: str) -> tuple[int, int]:
    """The least and the greatest cost: exact if the space is an automaton, else of a sample."""
    if isinstance(space, SequentialSpace) and metric in ADDITIVE_METRICS:
        return cost_graph_of(space, metric).extremes()
    costs = costs_of(space, _draw(space), metric)
    return int(costs.min()), int(costs.max())
