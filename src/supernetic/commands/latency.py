"""Measured milliseconds of networks, side by side as in AttentiveNAS's Table 4, and lookup tables for searches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import catalog
from ..blueprint import Blueprint
from ..costs.macs import cost
from ..errors import InputError, UnknownNameError
from ..result import Result
from ..space import Space
from ..strategy import parse_scaling, scale

if TYPE_CHECKING:
    from ..timing.measure import Timing

BATCHES = (1, 8, 128)


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
    """Networks in the order asked for; every network was measured in the same way."""

    networks: tuple[Timed, ...]
    engine: str
    threads: int

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
        what = {"onnx": "onnxruntime", "eager": "torch, eager"}[self.engine]
        clock = "1 thread, time on the processor" if self.threads == 1 else f"{self.threads} threads, wall time"
        return [
            f"{what}, {clock}; medians and quartiles of the repeats",
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
        return {"engine": self.engine, "threads": self.threads, "networks": networks}


def latency(
    names: Sequence[str],
    *,
    space: str | Space = "",
    batch: Sequence[int] = BATCHES,
    engine: str = "onnx",
    threads: int = 1,
    repeats: int = 50,
    progress: Callable[[str], None] | None = None,
) -> LatencyReport:
    """Time networks: by a name the papers gave them, `SPACE/ARCH`, an architecture of `space`, or files of models.

    A model is the directory of an exported one, or an ONNX file. Batches that take long are repeated less often, at
    least five times.
    """
    from ..timing.measure import require, time_file, time_network

    if not names:
        raise InputError("say which networks to time: names such as attentive-a1, SPACE/ARCH, or models")
    for b in batch or (0,):
        require(engine, b, threads, repeats)
    found = [_find(name, space) for name in names]  # all of them, before anything long begins
    settings: dict[str, Any] = {"threads": threads, "repeats": repeats}
    timed = []
    for f in found:
        if f.blueprint is None and engine != "onnx":
            raise InputError(f"{f.name} is a file: it runs through onnxruntime, got the engine {engine!r}")
        if progress is not None:
            progress(f.name)
        if f.file is not None and engine == "onnx":
            timings = [time_file(f.file, batch=b, **settings) for b in batch]
        else:
            timings = [time_network(f.network, **f.shape, batch=b, engine=engine, **settings) for b in batch]
        timed.append(f.timed(timings))
    return LatencyReport(tuple(timed), engine, threads)


class _Found(NamedTuple):
    """A network of a space, an exported model (which has both), or a bare ONNX file."""

    name: str
    space: str
    blueprint: Blueprint | None
    file: Path | None = None

    @property
    def network(self) -> Blueprint:
        assert self.blueprint is not None
        return self.blueprint

    @property
    def shape(self) -> dict[str, int]:
        return {"resolution": self.network.resolution, "channels": self.network.in_channels}

    def timed(self, timings: Sequence[Timing]) -> Timed:
        if self.blueprint is None:
            return Timed(self.name, self.space, None, None, None, tuple(timings))
        total = cost(self.blueprint)
        return Timed(self.name, self.space, total.macs, total.params, self.blueprint.resolution, tuple(timings))


def _find(name: str, space: str | Space) -> _Found:
    """What a name, `SPACE/ARCH` or a path stands for."""
    path = Path(name)
    if path.suffix == ".onnx":
        return _Found(name, "", None, path)
    if (path / "model.json").is_file():
        return _model(name, path)
    if space:
        return _of_space(name, catalog.space(space), name)
    for candidate in map(catalog.space, catalog.SPACES):
        if name.lower() in (*candidate.named, *candidate.upscaled):
            return _of_space(name, candidate, name)
    where, slash, arch = name.partition("/")
    if slash and where.partition(":")[0] in catalog.SPACES:
        return _of_space(name, catalog.space(where), arch)
    known = [n for s in map(catalog.space, catalog.SPACES) for n in (*s.named, *s.upscaled)]
    raise UnknownNameError("network", name, known)


def _of_space(name: str, space: Space, text: str) -> _Found:
    base, scaling = space.upscaled.get(text.lower(), (text, ""))
    blueprint = space.blueprint(space.parse(base))
    return _Found(name, space.name, scale(blueprint, parse_scaling(scaling)) if scaling else blueprint)


def _model(name: str, path: Path) -> _Found:
    from ..exporters.model import ONNX, verify

    record = verify(path)
    file = path / ONNX
    return _Found(
        name, record["settings"]["space"], Blueprint.from_json(record["blueprint"]), file if file.is_file() else None
    )


def _shown(value: int | None, unit: float, digits: int) -> str:
    return "-" if value is None else f"{value / unit:,.{digits}f}"
