"""A lookup table of latencies: every layer of a space is timed once, and networks are sums of layers.

A layer by itself takes longer than inside a network (it is called by itself, and converts its input and output), so the
sum is corrected by three numbers fitted to whole networks: a scale, a deduction per layer and an offset. The table's
error is stated on further networks that had no part in the fit. It holds at the speed that the machine had meanwhile,
which the table records (`standard`): on a busier machine all milliseconds grow together.

In units of nanoseconds a latency is a cost like MACs (`costs.table.Price`): counted, sampled exactly, looked up by the
million.
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
from ..blueprint import Blueprint, Layer
from ..costs.macs import macs_and_params
from ..errors import InputError, RunError
from ..ranking.correlation import tau as kendall_tau
from ..space import Arch, SequentialSpace, Space, State

Progress = Callable[[int, int], None]  # how many measurements are done, and of how many

FITTED, HELD_OUT = 16, 12  # networks
PASSES = 2  # over the networks, apart in time: what sums are compared with should itself be sure
MOST = 1500  # layers that are timed; the others are estimated
DRAWS = 500  # networks whose layers come first where there are more


def signature(layer: Layer) -> Layer:
    """What a layer's latency depends on: all but its name, its stage and whom it reads."""
    several = ("",) * len(layer.inputs) if len(layer.inputs) > 1 else ()
    return layer._replace(name="", stage=0, inputs=several)


@dataclass(frozen=True)
class Deviation:
    """How far sums of layers lie from measured networks, none of which the correction was fitted to."""

    mean: float  # absolute error in percent
    worst: float
    tau: float
    networks: int

    def __str__(self) -> str:
        return (
            f"{self.mean:.1f} % on average over {self.networks} networks not fitted to (at most {self.worst:.1f} %), "
            f"tau {self.tau:.2f}"
        )


@dataclass(frozen=True, eq=False)
class LatencyTable:
    """Milliseconds of layers by themselves, and the correction that makes their sum a network's."""

    space: str  # fingerprint
    engine: str
    batch: int
    threads: int
    reachable: int  # layers of the space; those not measured are estimated
    layers: Mapping[Layer, float] = field(repr=False)  # by signature
    factor: float = 1.0
    deduction: float = 0.0  # ms per layer
    offset: float = 0.0  # ms per network
    error: Deviation | None = None
    standard: float = 0.0  # ms of the stopwatch's standard block meanwhile: how fast the machine was

    name: ClassVar[str] = "latency/ms"
    scale: ClassVar[int] = 1_000_000  # nanoseconds

    @property
    def base(self) -> int:
        """Nanoseconds of every network."""
        return round(self.offset * self.scale)

    def of(self, layer: Layer) -> int:
        """Nanoseconds that a layer adds to a network."""
        return max(0, round((self.factor * self.alone(layer) - self.deduction) * self.scale))

    def alone(self, layer: Layer) -> float:
        """Milliseconds of a layer by itself: measured, or estimated from those that were."""
        key = signature(layer)
        return self.layers[key] if key in self.layers else self._estimate(key)

    @cached_property
    def _estimate(self) -> Callable[[Layer], float]:
        return estimator(self.layers)

    def ms(self, network: Iterable[Layer]) -> float:
        """Milliseconds of a network."""
        return (self.base + sum(map(self.of, network))) / self.scale

    def lines(self) -> list[str]:
        """What the table is worth, for people."""
        missing = max(0, self.reachable - len(self.layers))
        estimated = f", {missing} more estimated from them" if missing else ""
        return [
            f"latency of {len(self.layers)} layers measured ({self.engine}, batch {self.batch}, {self.threads} "
            f"thread{'s' * (self.threads > 1)}){estimated}",
            f"error of the sums: {self.error or 'not measured'}",
            f"at the machine's speed meanwhile (standard block: {self.standard:.3f} ms); when it is busier, ms grow",
        ]

    def to_records(self) -> list[dict[str, Any]]:
        """Plain records: the table's own, then one per layer."""
        error = asdict(self.error) if self.error else None
        shapes = Blueprint(tuple(self.layers)).to_json()
        return [
            {"kind": "table", **{k: getattr(self, k) for k in HEAD}, "error": error},
            *({"kind": "layer", "ms": ms, "layer": s} for ms, s in zip(self.layers.values(), shapes, strict=True)),
        ]

    @classmethod
    def from_records(cls, records: Iterable[Mapping[str, Any]]) -> LatencyTable:
        """The table that `to_records` wrote."""
        try:
            head, *rest = records
            shapes = Blueprint.from_json(r["layer"] for r in rest).layers
            layers = {layer: float(r["ms"]) for layer, r in zip(shapes, rest, strict=True)}
            error = Deviation(**head["error"]) if head["error"] else None
            return cls(**{k: head[k] for k in HEAD}, layers=layers, error=error)
        except (KeyError, TypeError, ValueError) as problem:
            raise RunError(f"the records of measured latencies are damaged: {problem!r}") from None

    def require(self, space: Space) -> LatencyTable:
        """The table itself, if it is of that space."""
        if self.space != space.fingerprint:
            raise RunError(f"the latencies were measured for another space than this {space.name}")
        return self


HEAD = ("space", "engine", "batch", "threads", "reachable", "factor", "deduction", "offset", "standard")


# --- measuring --------------------------------------------------------------------------------------------------------


def measure_table(
    space: Space,
    *,
    engine: str = "onnx",
    batch: int = 1,
    threads: int = 1,
    repeats: int = 30,
    fitted: int = FITTED,
    held_out: int = HELD_OUT,
    most: int = MOST,
    seed: int = 0,
    progress: Progress | None = None,
) -> LatencyTable:
    """Time the layers of a space (at most `most`), then whole random networks: some to fit, some to state the error."""
    from .measure import Stopwatch

    if fitted < 3 or held_out < 2:
        raise InputError(f"a table is fitted to at least 3 networks and tested on 2, got {fitted} and {held_out}")
    layers = reachable_layers(space)
    chosen = layers[:most]
    networks, fitted = _networks(space, fitted, held_out, seed)
    watch = Stopwatch(engine=engine, batch=batch, threads=threads, repeats=repeats)
    subjects = [*map(by_itself, chosen), *networks * PASSES]
    ratios = []
    for i, subject in enumerate(subjects, 1):
        ratios.append(watch.ratio(subject))
        if progress is not None:
            progress(i, len(subjects))
    ms = watch.ms * np.array(ratios)
    measured = dict(zip(chosen, ms.tolist(), strict=False))
    raw = LatencyTable(space.fingerprint, engine, batch, threads, len(layers), measured, standard=watch.ms)
    return fit(raw, networks, ms[len(chosen) :].reshape(PASSES, -1).mean(axis=0), fitted)


def fit(raw: LatencyTable, networks: Sequence[Blueprint], ms: Floats, fitted: int) -> LatencyTable:
    """The table corrected by the first `fitted` networks, and its error on the others."""
    from scipy.optimize import nnls

    sums = [sum(map(raw.alone, b)) for b in networks]
    columns = np.column_stack([sums, [-len(b) for b in networks], np.ones(len(networks))])
    relative = columns[:fitted] / ms[:fitted, None]  # a percent more or less is what counts, not a microsecond
    factor, deduction, offset = nnls(relative, np.ones(fitted))[0].tolist()
    table = replace(raw, factor=factor, deduction=deduction, offset=offset)
    said = np.array([table.ms(b) for b in networks[fitted:]])
    off = 100 * np.abs(said / ms[fitted:] - 1)
    tau = kendall_tau(said, ms[fitted:])
    error = Deviation(float(off.mean()), float(off.max()), tau if isfinite(tau) else 0.0, len(said))
    return replace(table, error=error)


def by_itself(layer: Layer) -> Blueprint:
    """A network of one layer, on an image of its input's shape (several inputs: the same image)."""
    n = len(layer.inputs)
    c = layer.c_in // n if n and layer.join == "concat" else layer.c_in
    image = Layer("image", "skip", c, c, layer.resolution, layer.resolution)
    return Blueprint((image, layer._replace(name="layer", inputs=("image",) * n)))


def _networks(space: Space, fitted: int, held_out: int, seed: int) -> tuple[list[Blueprint], int]:
    """Random networks, no two alike, and how many of them to fit to; in small spaces fewer, in the same proportion."""
    draws = space.sample(np.random.default_rng(seed), 20 * (fitted + held_out)).tolist()
    archs: list[Arch] = list(dict.fromkeys(space.canonical(tuple(a)) for a in draws))[: fitted + held_out]
    if len(archs) < 5:
        raise InputError(f"a table of latencies needs a space of at least 5 networks, {space.name} has {len(archs)}")
    fitted = min(fitted, max(3, len(archs) * fitted // (fitted + held_out)))
    return [space.blueprint(a) for a in archs], fitted


def reachable_layers(space: Space) -> list[Layer]:
    """Signatures of all layers of a space that is an automaton, else of many random networks; most used first."""
    draws = space.sample(np.random.default_rng(0), DRAWS).tolist()
    used = Counter(signature(layer) for arch in draws for layer in space.blueprint(tuple(arch)))
    found = [layer for layer, _ in used.most_common()]
    if isinstance(space, SequentialSpace):
        found = list(dict.fromkeys([*found, *map(signature, _automaton(space))]))
    return found


def _automaton(space: SequentialSpace) -> Iterable[Layer]:
    """The layers of every step from every state that can be reached."""
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


def estimator(known: Mapping[Layer, float]) -> Callable[[Layer], float]:
    """Latency from MACs, activations and parameters, fitted to the measured layers of the same kind and kernel."""
    fits: dict[Any, Floats] = {}

    def fitted(group: tuple[Any, ...]) -> Floats:
        from scipy.optimize import nnls

        for depth in range(len(group), -1, -1):  # those most alike that there are
            members = [layer for layer in known if _group(layer)[:depth] == group[:depth]]
            if members:
                break
        values = np.array([known[layer] for layer in members])
        weight = 1 / np.maximum(values, 1e-9)
        found: Floats = nnls(np.array([_features(m) for m in members]) * weight[:, None], values * weight)[0]
        return found

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
