"""One table of metrics: the unit of each, which direction is better, and what people call it.

A metric has a full name `group/name`. Names are looked up in full (`cost/macs`), then by their last part, so that
`macs` and `test/cross_entropy` are known too. A column of a benchmark table is an accuracy unless its name or its unit
says otherwise.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Better = Literal["higher", "lower"]

COUNT, PERCENT, NATS, MILLISECONDS, SECONDS, NO_UNIT = "count", "%", "nats", "ms", "s", ""
SPLITS = {"valid": "validation", "test": "test", "train": "training", "calibrate": "calibration"}
PROXY, TABLE_GROUP = "proxy/", "table/"
OLD_NAMES = {"vote/rank": "proxy/rank_ensemble", "valid/ladder": "valid/subset_training"}
OLD_PROXY = "vote/"
LOWER_WORDS = frozenset(("entropy", "loss", "error", "time", "seconds", "latency", "lat", "ms", "std"))
LOWER_UNITS = frozenset((NATS, MILLISECONDS, SECONDS))


@dataclass(frozen=True)
class Metric:
    """What is known about a metric whatever its value.

    Args:
        name: Its full name, or the last part of it where the group does not matter.
        unit: `count`, `%`, `nats`, `ms`, `s`, or nothing.
        better: Which direction is better.
        label: Its name for people, in lower case unless it is a proper name.
    """

    name: str
    unit: str
    better: Better
    label: str


METRICS = {
    m.name: m
    for m in (
        Metric("cost/macs", COUNT, "lower", "MACs"),
        Metric("cost/params", COUNT, "lower", "parameters"),
        Metric("cost/peak", COUNT, "lower", "peak activations"),
        Metric("latency/ms", MILLISECONDS, "lower", "latency"),
        Metric("proxy/rank_ensemble", NO_UNIT, "higher", "rank ensemble"),
        Metric("proxy/naswot", NO_UNIT, "higher", "NASWOT"),
        Metric("proxy/jacov", NO_UNIT, "higher", "Jacobian covariance"),
        Metric("proxy/synflow", NO_UNIT, "higher", "SynFlow"),
        Metric("proxy/snip", NO_UNIT, "higher", "SNIP"),
        Metric("proxy/grad_norm", NO_UNIT, "higher", "gradient norm"),
        Metric("proxy/zen", NO_UNIT, "higher", "Zen score"),
        Metric("proxy/expressivity", NO_UNIT, "higher", "expressivity"),
        Metric("proxy/progressivity", NO_UNIT, "higher", "progressivity"),
        Metric("proxy/trainability", NO_UNIT, "higher", "trainability"),
        Metric("proxy/vkdnw", NO_UNIT, "higher", "VKDNW"),
        Metric("proxy/meco", NO_UNIT, "higher", "MeCo"),
        Metric("proxy/swap", NO_UNIT, "higher", "SWAP"),
        Metric("proxy/zico", NO_UNIT, "higher", "ZiCo"),
        Metric("proxy/angle", NO_UNIT, "higher", "angle of the weights"),
        Metric("proxy/layers", NO_UNIT, "higher", "layers"),
        Metric("proxy/live_macs", COUNT, "higher", "MACs of live layers"),
        Metric("proxy/live_params", COUNT, "higher", "parameters of live layers"),
        Metric("accuracy", PERCENT, "higher", "accuracy"),
        Metric("balanced_accuracy", PERCENT, "higher", "balanced accuracy"),
        Metric("f1", PERCENT, "higher", "macro F1"),
        Metric("error", PERCENT, "lower", "error rate"),
        Metric("loss", NATS, "lower", "loss"),
        Metric("cross_entropy", NATS, "lower", "cross-entropy"),
        Metric("calibrated_cross_entropy", NATS, "lower", "calibrated cross-entropy"),
        Metric("subset_training", NATS, "lower", "calibrated cross-entropy after training on a subset"),
    )
}
BY_LAST_PART = {name.rpartition("/")[2]: m for name, m in METRICS.items()} | {"latency": METRICS["latency/ms"]}


def find(name: str, unit: str = "") -> Metric:
    """Look a metric up.

    Args:
        name: Its full name, or its last part alone.
        unit: The unit of a table's column, if it is known.

    Returns:
        The metric. One that is not in the table is better if higher, unless a word of its name or the unit says
        that it is a time, a loss or an error.
    """
    full = _current(name)
    group, _, last = full.rpartition("/")
    if full in METRICS:
        return METRICS[full]
    if f"{group}/" != TABLE_GROUP and (not group or group in SPLITS) and last in BY_LAST_PART:
        known = BY_LAST_PART[last]
        split = f"{SPLITS[group]} " if group in SPLITS and last != "subset_training" else ""
        return Metric(full, known.unit, known.better, f"{split}{known.label}")
    label = last if f"{group}/" == TABLE_GROUP or not group else last.replace("_", " ")
    return Metric(full, unit, "lower" if _falls(full, unit) else "higher", label)


def better(name: str, unit: str = "") -> Better:
    """Which direction of a metric is better; see `find` for the arguments."""
    return find(name, unit).better


def quality(name: str, value: float) -> float:
    """A metric's value with its sign turned where lower is better, so that more is always better."""
    return -value if better(name) == "lower" else value


def label(name: str) -> str:
    """A metric's name for people; a column of a table keeps the name that it has there."""
    return find(name).label


def is_cost(name: str) -> bool:
    """Whether a metric says what a network costs, not how good it is."""
    return name.startswith(("cost/", "latency/"))


def _current(name: str) -> str:
    """The name under which the table has a metric; proxies and subset training had other names once."""
    name = OLD_NAMES.get(name, name)
    return PROXY + name.removeprefix(OLD_PROXY) if name.startswith(OLD_PROXY) else name


def _falls(name: str, unit: str) -> bool:
    words = set(re.split(r"[^a-z0-9]+", name.lower()))
    return unit in LOWER_UNITS or bool(words & LOWER_WORDS) or is_cost(name)
