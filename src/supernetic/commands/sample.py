"""`sample`: architectures at a budget, or equidistant in performance from a benchmark table."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import catalog
from ..costs.budget import budget_sampler
from ..costs.graph import Prior
from ..costs.table import costs_of
from ..errors import InputError
from ..objective import Constraint, parse_where
from ..reading import read_json, read_toml, reason
from ..space import Archs, Space

if TYPE_CHECKING:
    from ..timing.lookup import LatencyTable


@dataclass(frozen=True)
class SampleReport:
    """Architectures, and how they were drawn."""

    space: Space
    archs: Archs
    macs: list[int]
    trials_per_sample: float
    seconds: float  # of the drawing alone
    build_seconds: float  # of the preparation before it
    how: str
    count: tuple[int, int] | None  # bounds on how many architectures the limits admit, where they were counted
    values: dict[str, list[float]] = field(default_factory=dict)  # of other columns or costs, by name

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "space": self.space.name,
            "archs": self.archs.tolist(),
            "macs": self.macs,
            "trials_per_sample": self.trials_per_sample,
            "seconds": self.seconds,
            "build_seconds": self.build_seconds,
            "how": self.how,
            "count": list(self.count) if self.count else None,
            **({"values": self.values} if self.values else {}),
        }


def sample(
    space: str | Space,
    n: int = 10,
    where: Sequence[str | Constraint] = (),
    *,
    prior: str = "uniform",
    method: str = "exact",
    seed: int = 0,
    latency: LatencyTable | str | Path | None = None,
) -> SampleReport:
    """Draw architectures that satisfy all cost limits, uniformly (or by the prior) over those that do.

    Args:
        space: The space: a name, the file that declares one, or an object.
        n: The number of architectures.
        where: Limits such as "macs<=300M".
        prior: `uniform` over encodings, `depth-uniform` (choice by choice), or a TOML or JSON file of weights
            {choice: {option: weight}}.
        method: `exact`, `proposal` (AttentiveNAS) or `naive` (rejection).
        seed: The seed of the draws.
        latency: Measured latencies, for limits in ms: a run that has them, their file, or an object. Without them the
            space's layers are measured first.

    Returns:
        The architectures, their MACs, and how they were drawn.
    """
    if n < 1:
        raise InputError(f"the number of samples must be at least 1, got {n}")
    if seed < 0:
        raise InputError(f"a seed must not be negative, got {seed}")
    searched = catalog.space(space)
    constraints = [parse_where(w) if isinstance(w, str) else w for w in where]
    begin = time.perf_counter()
    layer_cost = _latencies(searched, constraints, latency)
    sampler = budget_sampler(searched, constraints, prior=_prior(prior), method=method, layer_cost=layer_cost)
    built = time.perf_counter()
    archs, trials = sampler.sample(np.random.default_rng(seed), n)
    done = time.perf_counter()
    return SampleReport(
        searched,
        archs,
        costs_of(searched, archs).tolist(),
        trials / n,
        done - built,
        built - begin,
        sampler.how,
        sampler.count if len(sampler.constraints) == 1 else None,
        {layer_cost.name: (costs_of(searched, archs, layer_cost) / layer_cost.scale).tolist()} if layer_cost else {},
    )


def _latencies(
    space: Space, constraints: Sequence[Constraint], latency: LatencyTable | str | Path | None
) -> LatencyTable | None:
    """Latencies, if a limit needs them or they are given."""
    if latency is None and not any(c.name in ("latency", "latency/ms") for c in constraints):
        return None
    from ..timing.tables import latency_table

    return latency_table(space, latency)


def sample_equidistant(
    table: str, n: int, by: str, *, drop_worst: float = 0.0, space: str | Space | None = None
) -> SampleReport:
    """Choose architectures of a benchmark table that are equidistant in one of its columns.

    "Small data, big decisions" chose its five NAS-Bench-101 cells in this way (section 5): the worst 10 % were dropped,
    and the others are equidistant.

    Args:
        table: The table: a name, or a file.
        n: The number of architectures.
        by: The column.
        drop_worst: The share of the worst architectures that is left out first, in percent.
        space: The space of the table; needed for a file.

    Returns:
        The architectures, their MACs, and their values in the column.
    """
    if not 0 <= drop_worst < 100:
        raise InputError(f"the share to drop must lie in 0..100 %, got {drop_worst:g}")
    begin = time.perf_counter()
    loaded = catalog.table(table, catalog.space(space) if space else None)
    value = loaded[by].values
    built = time.perf_counter()
    order = np.argsort(value, kind="stable")
    order = order[np.isfinite(value[order])]
    order = order[int(len(order) * drop_worst / 100) :]
    if not 1 <= n <= len(order):
        raise InputError(f"the number of architectures must lie in 1..{len(order)} for table {table!r}, got {n}")
    targets = np.linspace(value[order[0]], value[order[-1]], n) if n > 1 else [value[order[-1]]]
    chosen: list[int] = []
    for target in targets:
        distance = np.abs(value[order] - target)
        distance[np.isin(order, chosen)] = np.inf
        chosen.append(int(order[distance.argmin()]))
    archs = loaded.archs[chosen]
    how = f"equidistant in {by}" + (f" after dropping the worst {drop_worst:g} %" if drop_worst else "")
    return SampleReport(
        loaded.space,
        archs,
        costs_of(loaded.space, archs).tolist(),
        1.0,
        time.perf_counter() - built,
        built - begin,
        how,
        None,
        {by: value[chosen].tolist()},
    )


def _prior(text: str) -> Prior:
    """A named prior, or the weights in a file."""
    path = Path(text)
    if path.suffix not in (".toml", ".json"):
        return text
    try:
        data = read_toml(path) if path.suffix == ".toml" else read_json(path)
    except (OSError, ValueError) as error:
        raise InputError(f"the prior {text!r} cannot be read: {reason(error)}") from None
    if not isinstance(data, dict) or not all(isinstance(v, dict) for v in data.values()):
        raise InputError(f"the prior {text!r} must map choices to {{option: weight}}")
    try:
        prior = {str(c): {str(o): float(w) for o, w in weights.items()} for c, weights in data.items()}
        if not all(0 <= w < inf for weights in prior.values() for w in weights.values()):
            raise ValueError
        return prior
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"the prior {text!r} must hold finite numbers, 0 or more, as weights") from None
