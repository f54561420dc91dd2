"""`latency`: measured milliseconds of networks, side by side as in Table 4 of AttentiveNAS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import catalog
from ..blueprint import Blueprint
from ..capacity import require_memory
from ..costs.macs import cost
from ..errors import InputError, UnknownNameError
from ..hardware import settle_hardware
from ..progress import Event, OnEvent, ignore
from ..result import Result
from ..runs.directory import naming_damage
from ..runs.files import MODEL_RECORD
from ..space import Space
from ..strategy import parse_scaling, scale

NUMBER_BYTES = 4  # of an activation

if TYPE_CHECKING:
    from ..timing.measure import Timing

BATCH_SIZES = (1, 8, 128)  # images


@dataclass(frozen=True)
class Timed:
    """One network: what it is, and one timing per batch size."""

    name: str
    space: str
    macs: int | None  # unknown for a bare ONNX file
    params: int | None
    resolution: int | None
    timings: tuple[Timing, ...]


@dataclass(frozen=True)
class LatencyReport(Result):
    """Networks in the order given; every network was measured in the same way."""

    networks: tuple[Timed, ...]
    engine: str
    threads: int
    device: str = "cpu"

    def lines(self) -> list[str]:
        """A table: one row per network and batch size."""
        rows = [
            ["network", "resolution", "MACs (M)", "params (M)", "batch", "ms", "quartiles", "ms per image", "repeats"]
        ]
        rows += [
            [
                n.name, _shown(n.resolution, 1, 0), _shown(n.macs, 1e6, 1), _shown(n.params, 1e6, 2), str(t.batch),
                f"{t.ms:.2f}", f"{t.low:.2f}..{t.high:.2f}", f"{t.per_image:.3f}", str(t.repeats),
            ]
            for n in self.networks
            for t in n.timings
        ]  # fmt: skip
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        engine = {"onnx": "onnxruntime", "eager": "torch, eager"}[self.engine]
        clock = "1 thread, time on the processor" if self.threads == 1 else f"{self.threads} threads, wall time"
        if self.device != "cpu":
            clock = f"on {self.device}, wall time"
        return [
            f"{engine}, {clock}; medians and quartiles of the repeats",
            "",
            *("  ".join([r[0].ljust(widths[0]), *map(str.rjust, r[1:], widths[1:])]).rstrip() for r in rows),
        ]

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        networks = [
            {
                **{k: getattr(n, k) for k in ("name", "space", "macs", "params", "resolution")},
                "timings": [t.to_json() for t in n.timings],
            }
            for n in self.networks
        ]
        device = {} if self.device == "cpu" else {"device": self.device}
        return {"engine": self.engine, "threads": self.threads, **device, "networks": networks}


def latency(
    names: Sequence[str],
    *,
    space: str | Space = "",
    batch: Sequence[int] = BATCH_SIZES,
    engine: str = "onnx",
    threads: int = 1,
    device: str = "cpu",
    repeats: int = 50,
    on_event: OnEvent | None = None,
) -> LatencyReport:
    """Measure how long networks take on this machine.

    Args:
        names: Networks: names that papers gave them, `SPACE/ARCH`, model directories or ONNX files; with a `space`,
            its architectures too.
        space: The space of architectures that are given without one.
        batch: Batch sizes.
        engine: `onnx` (onnxruntime) or `eager` (torch).
        threads: Processor threads.
        device: `cpu`; or, with the engine `eager`, `cuda`, `cuda:1` or `mps`.
        repeats: The largest number of measurements; slow batches are measured less often, at least five times.
        on_event: Receives the networks measured, as counts of the task `latency`.

    Returns:
        Networks in the order given, each with one timing per batch size.
    """
    from ..timing.measure import require, time_file, time_network

    if not names:
        raise InputError("latency needs a network: a name such as attentive-a1, SPACE/ARCH or a model, got none")
    device = settle_hardware(device).device
    for b in batch or (0,):
        require(engine, b, threads, repeats, device)
    networks = [_find(name, space) for name in names]  # all of them, before anything long begins
    for network in networks:
        if network.blueprint is None and engine != "onnx":
            raise InputError(f"{network.name} is a file: it runs through onnxruntime, got the engine {engine!r}")
        if network.blueprint is not None:
            peak = cost(network.blueprint).peak * NUMBER_BYTES * max(batch)
            require_memory(f"{network.name} at a batch of {max(batch):,}", peak, "give a smaller --batch")
    send = on_event or ignore
    settings: dict[str, Any] = {"threads": threads, "repeats": repeats}
    timed = []
    for i, network in enumerate(networks):
        send(Event("latency", network.name, done=i, total=len(networks)))
        if network.file is not None and engine == "onnx":
            timings = [time_file(network.file, batch=b, **settings) for b in batch]
        else:
            shape = network.shape
            timings = [
                time_network(network.plan, **shape, batch=b, engine=engine, device=device, **settings) for b in batch
            ]
        timed.append(network.timed(timings))
    send(Event("latency", done=len(networks), total=len(networks)))
    return LatencyReport(tuple(timed), engine, threads, device)


class _Named(NamedTuple):
    """A network of a space, an exported model (which has both), or a bare ONNX file."""

    name: str
    space: str
    blueprint: Blueprint | None
    file: Path | None = None

    @property
    def plan(self) -> Blueprint:
        """The blueprint, where there must be one."""
        assert self.blueprint is not None
        return self.blueprint

    @property
    def shape(self) -> dict[str, int]:
        """Of its images."""
        return {"resolution": self.plan.resolution, "channels": self.plan.in_channels}

    def timed(self, timings: Sequence[Timing]) -> Timed:
        """The network with its timings."""
        if self.blueprint is None:
            return Timed(self.name, self.space, None, None, None, tuple(timings))
        total = cost(self.blueprint)
        return Timed(self.name, self.space, total.macs, total.params, self.blueprint.resolution, tuple(timings))


def _find(name: str, space: str | Space) -> _Named:
    """What a name, `SPACE/ARCH` or a path stands for."""
    path = Path(name)
    if path.suffix == ".onnx":
        return _Named(name, "", None, path)
    if (path / MODEL_RECORD).is_file():
        return _model(name, path)
    if space:
        return _of_space(name, catalog.space(space), name)
    for candidate in map(catalog.space, catalog.SPACES):
        if name.lower() in (*candidate.named, *candidate.upscaled):
            return _of_space(name, candidate, name)
    where, slash, arch = name.partition("/")
    if slash and where.partition(":")[0] in catalog.SPACES:
        return _of_space(name, catalog.space(where), arch)
    names = [n for s in map(catalog.space, catalog.SPACES) for n in (*s.named, *s.upscaled)]
    raise UnknownNameError("network", name, names)


def _of_space(name: str, space: Space, text: str) -> _Named:
    base, scaling = space.upscaled.get(text.lower(), (text, ""))
    blueprint = space.blueprint(space.parse(base))
    return _Named(name, space.name, scale(blueprint, parse_scaling(scaling)) if scaling else blueprint)


def _model(name: str, path: Path) -> _Named:
    from ..exporters.model import ONNX, verify

    record, file = verify(path), path / ONNX
    with naming_damage(path / MODEL_RECORD):
        space, blueprint = str(record["settings"]["space"]), Blueprint.from_json(record["blueprint"])
        cost(blueprint)
    return _Named(name, space, blueprint, file if file.is_file() else None)


def _shown(value: int | None, unit: float, digits: int) -> str:
    return "-" if value is None else f"{value / unit:,.{digits}f}"
