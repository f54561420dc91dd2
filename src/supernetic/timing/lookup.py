"""A lookup table of latencies: every layer of a space is timed once, and the latency of a network is a sum of layers.

A layer that runs alone takes longer than inside a network, because it is called by itself and converts its input and
output. So the sum is corrected by three numbers that are fitted to whole networks: a scale, a deduction per layer and
an offset. The error of the table is stated on further networks that were not used for the fit. The table holds at the
speed that the machine had during the measurement, which it records (`standard`); on a busier machine all latencies
grow.

In nanoseconds, a latency is a cost like MACs (`costs.table.LayerCost`): networks can be counted and sampled exactly by
latency, and looked up by the million.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import product
from math import isfinite
from typing import Any, ClassVar

import numpy as np

from ..arrays import Floats
from ..blueprint import Blueprint, Layer, read_layers
from ..costs.macs import macs_and_params
from ..errors import InputError, RunError
from ..ranking.correlation import tau as kendall_tau
from ..space import Arch, SequentialSpace, Space, State

Progress = Callable[[int, int], None]  # (measurements done, measurements in all)

FITTED_NETWORKS, HELD_OUT_NETWORKS = 16, 12
NETWORK_PASSES = 2  # over the whole networks, apart in time, because the sums are judged by them
MAX_TIMED_LAYERS = 1500  # the others are estimated
SAMPLED_NETWORKS = 500  # whose layers are timed first


def signature(layer: Layer) -> Layer:
    """What the latency of a layer depends on: everything but its name, its stage and the layers it reads."""
    several = ("",) * len(layer.inputs) if len(layer.inputs) > 1 else ()
    return layer._replace(name="", stage=0, inputs=several)


@dataclass(frozen=True)
class Deviation:
    """How far sums of layers are from measured networks that were not used for the fit."""

    mean: float  # absolute error in percent
    worst: float  # the largest one, in percent
    tau: float  # Kendall's tau between sums and measurements
    networks: int

    def __str__(self) -> str:
        return (
            f"{self.mean:.1f} % on average over {self.networks} held-out networks (at most {self.worst:.1f} %), "
            f"tau {self.tau:.2f}"
        )


@dataclass(frozen=True, eq=False)
class LatencyTable:
    """Milliseconds of single layers, and the correction that turns their sum into the latency of a network."""

    space: str  # its fingerprint
    engine: str
    batch: int
    threads: int
    reachable: int  # layers of the space; those not measured are estimated
    layers: Mapping[Layer, float] = field(repr=False)  # by signature
    factor: float = 1.0
    deduction: float = 0.0  # ms per layer
    offset: float = 0.0  # ms per network
    error: Deviation | None = None
    standard: float = 0.0  # ms of the standard block during the measurement: how fast the machine was
    device: str = "cpu"

    name: ClassVar[str] = "latency/ms"
    scale: ClassVar[int] = 1_000_000  # nanoseconds

    @property
    def base(self) -> int:
        """Nanoseconds that every network takes beside its layers."""
        return round(self.offset * self.scale)

    def of(self, layer: Layer) -> int:
        """Nanoseconds that a layer adds to a network."""
        return max(0, round((self.factor * self.alone(layer) - self.deduction) * self.scale))

    def alone(self, layer: Layer) -> float:
        """Milliseconds of a layer that runs alone: measured, or estimated from the measured ones."""
        key = signature(layer)
        return self.layers[key] if key in self.layers else self._estimate(key)

    @cached_property
    def _estimate(self) -> Callable[[Layer], float]:
        return estimator(self.layers)

    def ms(self, network: Iterable[Layer]) -> float:
        """Milliseconds of a network."""
        return (self.base + sum(map(self.of, network))) / self.scale

    def lines(self) -> list[str]:
        """A summary for people: what was measured, and how large the error is."""
        missing = max(0, self.reachable - len(self.layers))
        estimated = f", {missing} more estimated from them" if missing else ""
        return [
            f"latency of {len(self.layers)} layers measured ({self.engine}, batch {self.batch}, {self.threads} "
            f"thread{'s' * (self.threads > 1)}{'' if self.device == 'cpu' else f', on {self.device}'}){estimated}",
            f"error of the sums: {self.error or 'not measured'}",
            f"speed of the machine: {self.standard:.3f} ms for the standard block; latencies grow when it is busier",
        ]

    def to_records(self) -> list[dict[str, Any]]:
        """Plain records for JSON: one for the table, then one per layer."""
        error = asdict(self.error) if self.error else None
        device = {} if self.device == "cpu" else {"device": self.device}
        shapes = Blueprint(tuple(self.layers)).to_json()
        return [
            {"kind": "table", **{k: getattr(self, k) for k in TABLE_FIELDS}, **device, "error": error},
            *({"kind": "layer", "ms": ms, "layer": s} for ms, s in zip(self.layers.values(), shapes, strict=True)),
        ]

    @classmethod
    def from_records(cls, records: Iterable[Mapping[str, Any]]) -> LatencyTable:
        """The table that `to_records` wrote."""
        try:
            head, *rest = records
            shapes = read_layers(r["layer"] for r in rest)
            layers = {layer: float(r["ms"]) for layer, r in zip(shapes, rest, strict=True)}
            error = Deviation(**head["error"]) if head["error"] else None
            device = str(head.get("device", "cpu"))
            return cls(**{k: head[k] for k in TABLE_FIELDS}, layers=layers, error=error, device=device)
        except (KeyError, TypeError, ValueError) as problem:
            raise RunError(f"the records of a latency table are damaged: {problem!r}") from None

    def require(self, space: Space) -> LatencyTable:
        """The table itself; an error if it was measured for another space."""
        if self.space != space.fingerprint:
            raise RunError(f"the latency table was measured for another space than this {space.name}")
        return self


TABLE_FIELDS = ("space", "engine", "batch", "threads", "reachable", "factor", "deduction", "offset", "standard")


# --- measuring --------------------------------------------------------------------------------------------------------


def measure_table(
    space: Space,
    *,
    engine: str = "onnx",
    batch: int = 1,
    threads: int = 1,
    repeats: int = 30,
    fitted: int = FITTED_NETWORKS,
    held_out: int = HELD_OUT_NETWORKS,
    most: int = MAX_TIMED_LAYERS,
    seed: int = 0,
    device: str = "cpu",
    progress: Progress | None = None,
) -> LatencyTable:
    """Time the layers of a space, then whole random networks: some to fit the correction, some to state the error.

    Args:
        space: The space.
        engine: `onnx` or `eager`.
        batch: Images at a time.
        threads: Threads of the engine.
        repeats: Runs of each layer and network.
        fitted: Networks that the correction is fitted to.
        held_out: Networks that the error is stated on.
        most: Layers to time at most; the others are estimated.
        seed: Decides which networks are timed.
        device: Where they run; any but `cpu` needs the engine `eager`.
        progress: Called after every measurement.

    Returns:
        The table.
    """
    from .measure import Stopwatch

    if fitted < 3 or held_out < 2:
        raise InputError(f"a latency table needs at least 3 networks to fit and 2 to test, got {fitted} and {held_out}")
    layers = reachable_layers(space)
    chosen = layers[:most]
    networks, fitted = _networks(space, fitted, held_out, seed)
    watch = Stopwatch(engine=engine, batch=batch, threads=threads, repeats=repeats, device=device)
    subjects = [*map(single_layer, chosen), *networks * NETWORK_PASSES]
    ratios = []
    for i, subject in enumerate(subjects, 1):
        ratios.append(watch.ratio(subject))
        if progress is not None:
            progress(i, len(subjects))
    ms = watch.ms * np.array(ratios)
    measured = dict(zip(chosen, ms.tolist(), strict=False))
    raw = LatencyTable(
        space.fingerprint, engine, batch, threads, len(layers), measured, standard=watch.ms, device=device
    )
    return fit(raw, networks, ms[len(chosen) :].reshape(NETWORK_PASSES, -1).mean(axis=0), fitted)


def fit(raw: LatencyTable, networks: Sequence[Blueprint], ms: Floats, fitted: int) -> LatencyTable:
    """Fit the correction of a table to measured networks.

    Args:
        raw: The table without a correction.
        networks: The networks.
        ms: Their measured milliseconds.
        fitted: How many of them, from the first on, the correction is fitted to.

    Returns:
        The corrected table, with its error on the other networks.
    """
    from scipy.optimize import nnls

    sums = [sum(map(raw.alone, b)) for b in networks]
    columns = np.column_stack([sums, [-len(b) for b in networks], np.ones(len(networks))])
    relative = columns[:fitted] / ms[:fitted, None]  # a percent more or less is what counts, not a microsecond
    factor, deduction, offset = nnls(relative, np.ones(fitted))[0].tolist()
    table = replace(raw, factor=factor, deduction=deduction, offset=offset)
    predicted = np.array([table.ms(b) for b in networks[fitted:]])
    errors = 100 * np.abs(predicted / ms[fitted:] - 1)
    tau = kendall_tau(predicted, ms[fitted:])
    error = Deviation(float(errors.mean()), float(errors.max()), tau if isfinite(tau) else 0.0, len(predicted))
    return replace(table, error=error)


def single_layer(layer: Layer) -> Blueprint:
    """A network of one layer; its image has the shape of the layer's input, and serves for several inputs too."""
    n = len(layer.inputs)
    c = layer.c_in // n if n and layer.join == "concat" else layer.c_in
    image = Layer("image", "skip", c, c, layer.resolution, layer.resolution)
    return Blueprint((image, layer._replace(name="layer", inputs=("image",) * n)))


def _networks(space: Space, fitted: int, held_out: int, seed: int) -> tuple[list[Blueprint], int]:
    """Different random networks, and how many of them to fit to; a small space has fewer, in the same proportion."""
    draws = space.sample(np.random.default_rng(seed), 20 * (fitted + held_out)).tolist()
    archs: list[Arch] = list(dict.fromkeys(space.canonical(tuple(a)) for a in draws))[: fitted + held_out]
    if len(archs) < 5:
        raise InputError(f"a latency table needs a space of at least 5 networks, {space.name} has {len(archs)}")
    fitted = min(fitted, max(3, len(archs) * fitted // (fitted + held_out)))
    return [space.blueprint(a) for a in archs], fitted


def reachable_layers(space: Space) -> list[Layer]:
    """Signatures of the layers of a space, the most used first.

    They are all its layers if the space is sequential, else those of many random networks.
    """
    draws = space.sample(np.random.default_rng(0), SAMPLED_NETWORKS).tolist()
    used = Counter(signature(layer) for arch in draws for layer in space.blueprint(tuple(arch)))
    layers = [layer for layer, _ in used.most_common()]
    if isinstance(space, SequentialSpace):
        layers = list(dict.fromkeys([*layers, *map(signature, _all_layers(space))]))
    return layers


def _all_layers(space: SequentialSpace) -> Iterable[Layer]:
    """The layers of every step from every reachable state."""
    layers, first = space.start()
    yield from layers
    states: dict[State, None] = {first: None}
    for i, genes in enumerate(space.slots):
        after: dict[State, None] = {}
        for state in states:
            for combo in product(*(range(int(space.radices[g])) for g in genes)):
                taken = space.step(i, state, combo)
                if taken is not None:
                    yield from taken[0]
                    after[taken[1]] = None
        states = after
    for state in states:
        yield from space.finish(state)


# --- layers that were not measured ------------------------------------------------------------------------------------


def estimator(measured: Mapping[Layer, float]) -> Callable[[Layer], float]:
    """Estimate latencies from MACs, activations and parameters.

    Args:
        measured: Milliseconds by layer. An estimate is fitted to those of the same kind, kernel and stride.

    Returns:
        A function that estimates the milliseconds of a layer.
    """
    fits: dict[Any, Floats] = {}

    def fitted(group: tuple[Any, ...]) -> Floats:
        from scipy.optimize import nnls

        for depth in range(len(group), -1, -1):  # the most similar layers that were measured
            similar = [layer for layer in measured if _group(layer)[:depth] == group[:depth]]
            if similar:
                break
        values = np.array([measured[layer] for layer in similar])
        weight = 1 / np.maximum(values, 1e-9)
        coefficients: Floats = nnls(np.array([_features(m) for m in similar]) * weight[:, None], values * weight)[0]
        return coefficients

    def estimate(layer: Layer) -> float:
        group = _group(layer)
        if group not in fits:
            fits[group] = fitted(group)
        return float(_features(layer) @ fits[group])

    return estimate


def _group(layer: Layer) -> tuple[Any, ...]:
    return layer.kind, layer.kernel, layer.stride, bool(layer.se), layer.act, layer.shortcut


def _features(layer: Layer) -> Floats:
    macs, params = macs_and_params(layer)
    wide = max(layer.hidden, layer.c_in)
    activations = wide * layer.resolution**2 + (layer.hidden + layer.c_out) * layer.resolution_out**2
    return np.array([macs / 1e6, activations / 1e6, params / 1e6, 1.0])
