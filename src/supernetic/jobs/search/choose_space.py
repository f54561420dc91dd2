"""What is settled before a search writes anything: whether the images will do, which space fits them and the budget."""

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
from ...datasets.check import report_on
from ...errors import DataError
from ...objective import Constraint, combine, show_quantity
from ...searchers.grid import enumerate_archs
from ...space import Archs, SequentialSpace, Space
from ..train.fit_space import fit_space

if TYPE_CHECKING:
    from ...datasets import Dataset

AUTO = "auto"
SMALL = 64  # pixels up to which images need no early sub-sampling
MIN_RESOLUTION = 16  # below it three strides leave next to nothing
CHANNELS = (4, 6, 8, 10, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64)  # of the stem of `macro`, from small to large
HEAD = 40  # times the channels of the stem, as in the benchmark
SIZES = (  # side and width of `scarlet-s1`; side and width grow in turns
    (64, 0.25), (64, 0.35), (64, 0.5), (96, 0.35), (96, 0.5), (128, 0.5), (160, 0.5),
    (160, 0.75), (192, 0.75), (224, 0.75), (224, 1.0),
)  # fmt: skip
TYPICAL = 8e6  # MACs of a median network for an hour on a processor: a judgement, see docs/decisions/0006-plan.md
GPU = 30  # times as many on a GPU
INSIDE = 0.7  # share of networks that upper limits should leave
ABOVE = 0.2  # share of networks that lower limits should leave
DRAWN = 2000  # architectures by which a space's costs are judged
LISTED = 20_000  # encodings up to which networks are counted one by one
TRIALS = 1000  # draws, tenfold, after which a space that can only be sampled is held to lie outside the budget
FEW = 500  # images in a split, below which the uncertainty of its accuracies is said
ROUGH = 90.0  # accuracy in percent for which it is said


# --- images -----------------------------------------------------------------------------------------------------------


def check_images(dataset: Dataset) -> tuple[str, ...]:
    """What there is to know about the images before a search; what would make it worthless is refused."""
    for split, use in (("valid", "to choose architectures by"), ("test", "to test the models on")):
        if not len(dataset.splits[split]):
            raise DataError(
                f"{dataset.source}: the split {split} is empty, a search needs images {use}; "
                f"there are {len(dataset.images)} images of {len(dataset.classes)} classes"
            )
    notes = list(report_on(dataset).notes)
    for split in ("valid", "test"):
        n = len(dataset.splits[split])
        if n < FEW:
            error = 1.96 * sqrt(ROUGH * (100 - ROUGH) / n)
            notes.append(
                f"the split {split} has {n} images: an accuracy of {ROUGH:.0f} % is uncertain by {error:.1f} points"
            )
    return tuple(notes)


# --- the space --------------------------------------------------------------------------------------------------------


def choose_space(
    dataset: Dataset,
    where: Sequence[Constraint] = (),
    asked: str | Space = AUTO,
    *,
    minutes: float | None = None,
    device: str = "cpu",
) -> tuple[Space, str, tuple[str, ...]]:
    """The space to search, its text, and why it was chosen, in words.

    `auto` takes NAS-Bench-Macro's blocks for images of up to 64 pixels and SCARLET's S1 for larger ones, in the largest
    size of which most networks keep the upper limits in `where` and which the time (an hour unless `minutes` says
    otherwise) suffices to train; larger still, if lower limits ask for it. Any other space is completed from the data.
    """
    if isinstance(asked, Space) or asked != AUTO:
        made, notes = fit_space(asked, dataset)
        return made, made.name if isinstance(asked, Space) else asked, tuple(notes)
    texts, why = _sizes(dataset)
    sizes_of_space = [catalog.space(text) for text in texts]
    at, size = _fitting_size(
        sizes_of_space, _limits(where), TYPICAL * sqrt((minutes or 60) / 60) * (GPU if device == "cuda" else 1)
    )
    made = sizes_of_space[at]
    costs = costs_of(made, _draw(made))
    low, high = _range(made, "macs")
    map_in_workers = f"{show_quantity(low)} to {show_quantity(high)} MACs, half of its networks below"
    return made, texts[at], (why, f"{size}: {map_in_workers} {show_quantity(float(np.median(costs)))}")


def _sizes(dataset: Dataset) -> tuple[list[str], str]:
    """Texts of spaces for the images, from small to large, and which kind they are."""
    classes, resolution, channels = len(dataset.classes), dataset.resolution, dataset.channels
    rest = f"classes={classes},in_channels={channels}"
    if resolution <= SMALL:
        taken = max(resolution, MIN_RESOLUTION)
        resized = "" if taken == resolution else f", enlarged to {taken}x{taken}"
        heads = {c: max(HEAD * c, min(classes, HEAD * 32)) for c in CHANNELS}
        return (
            [f"macro:channels={c},head={heads[c]},resolution={taken},{rest}" for c in CHANNELS],
            f"macro, eight inverted bottlenecks or skips, suits small images: {resolution}x{resolution}{resized}",
        )
    sizes = [(s, w) for s, w in SIZES if s <= resolution]
    return (
        [f"scarlet-s1:resolution={s},width={w},{rest}" for s, w in sizes],
        f"scarlet-s1, nineteen inverted bottlenecks or skips with early sub-sampling, suits larger images: "
        f"{resolution}x{resolution}, which it takes at 64 to {sizes[-1][0]}",
    )


def _fitting_size(sizes_of_space: Sequence[Space], limits: Sequence[Constraint], affordable: float) -> tuple[int, str]:
    """The largest space that the budget and the time leave, or the smallest there is; and which of them decided."""
    uppers = [dataclasses.replace(c, low=-inf, low_open=False) for c in limits if c.high < inf]
    lowers = [dataclasses.replace(c, high=inf, high_open=False) for c in limits if c.low > -inf]
    by_budget = max((i for i, s in enumerate(sizes_of_space) if _share(s, uppers) >= INSIDE), default=0)
    by_time = max(
        (i for i, s in enumerate(sizes_of_space) if np.median(costs_of(s, _draw(s))) <= affordable), default=0
    )
    least = min(
        (i for i, s in enumerate(sizes_of_space) if _share(s, lowers) >= ABOVE), default=len(sizes_of_space) - 1
    )
    at = max(least, min(by_budget, by_time))
    if at > min(by_budget, by_time):
        return at, f"sized so that {_text(lowers)} leaves a choice"
    if uppers and by_budget <= by_time:
        return at, f"sized so that most networks keep {_text(uppers)}"
    beyond = f", smaller than {_text(uppers)} allows" if uppers else ""
    return at, f"sized for the time there is{beyond}"


def _share(space: Space, limits: Sequence[Constraint]) -> float:
    """The share of networks within all limits."""
    return float(_inside(space, _draw(space), limits).mean())


def _draw(space: Space) -> Archs:
    return space.sample(np.random.default_rng(0), DRAWN)


def _text(limits: Iterable[Constraint]) -> str:
    return " and ".join(str(c) for c in limits)


# --- the budget -------------------------------------------------------------------------------------------------------


def check_budget(space: Space, where: Iterable[Constraint]) -> tuple[str, ...]:
    """Notes on a budget that can be met; one that cannot, or that contradicts itself, is an error that says why."""
    limits = _limits(where)
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
    found = count_networks(space, limits)
    if found is not None:
        notes.append(f"{found:,} {'network keeps' if found == 1 else 'networks keep'} {_text(limits)}")
    return tuple(notes)


def count_networks(space: Space, where: Iterable[Constraint] = ()) -> int | None:
    """How many different networks keep the limits on costs; None where there are too many to list."""
    limits = _limits(where)
    if space.size <= LISTED:
        different = {space.canonical(a) for a in enumerate_archs(space, LISTED)}
        return int(_inside(space, np.array(sorted(different), dtype=np.int8), limits).sum())
    count = _sampler(space, limits).count
    return count[1] if count is not None and count[1] <= LISTED else None


def _limits(where: Iterable[Constraint]) -> list[Constraint]:
    """The constraints on costs, one per cost; others are met by measuring, not by counting."""
    merged = combine(where).values()
    return cost_constraints(c for c in merged if c.name.removeprefix("cost/") in METRICS)


def _sampler(space: Space, limits: Sequence[Constraint]) -> BudgetSampler:
    sampler = budget_sampler(space, limits)
    return sampler if isinstance(space, SequentialSpace) else dataclasses.replace(sampler, cap=TRIALS)


def _inside(space: Space, archs: Archs, limits: Sequence[Constraint]) -> npt.NDArray[np.bool_]:
    inside = np.ones(len(archs), dtype=bool)
    for c in limits:
        low, high = window_of(c)
        value = costs_of(space, archs, c.name)
        inside &= (value >= low) & (value <= high)
    return inside


def _range(space: Space, metric: str) -> tuple[int, int]:
    """Least and greatest cost, exactly where the space is an automaton, else of what is drawn."""
    if isinstance(space, SequentialSpace) and metric in ADDITIVE_METRICS:
        return cost_graph_of(space, metric).extremes()
    costs = costs_of(space, _draw(space), metric)
    return int(costs.min()), int(costs.max())
