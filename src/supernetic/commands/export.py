"""`export`: the networks that a search chose as model directories; or a model directory anew, with its ONNX file."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import RunError, UnknownNameError
from ..jobs.compare.candidates import CHOSEN
from ..jobs.compare.export import export_network, missing_weights, read_networks
from ..objective import show_quantity
from ..result import Result
from ..runs.directory import SETTINGS, open_run, read_settings
from ..runs.trust import opens_runs, require_name


@dataclass(frozen=True)
class Exported:
    """One model directory."""

    name: str
    path: str
    macs: int
    params: int
    bytes: int  # of all its files
    deviation: float | None  # of the ONNX file's logits, relative to the largest; none without such a file


@dataclass(frozen=True)
class ExportResult(Result):
    """What was written, and what could not be."""

    models: tuple[Exported, ...]
    notes: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """One line per model."""
        return [*map(_line, self.models), *(f"note: {note}" for note in self.notes)]


@opens_runs
def export(
    source: str | Path, *, out: str | Path | None = None, name: str | None = None, trust_code: bool = False
) -> ExportResult:
    """Export all chosen networks of a search's run, or one by `name`; or a model directory again.

    Models go to `OUT/NAME`, by default `RUN/models/NAME`. A model directory is verified and written in place, or to
    `OUT` or under another `name`; it gets the ONNX file if it had none.
    """
    from ..exporters.model import is_model, load_model, read_card, save_model

    if name is not None:
        require_name(name)
    path = Path(source)
    if is_model(path):
        network, card = load_model(path), read_card(path)
        target = path if out is None and name is None else Path(out or path.resolve().parent) / (name or card.name)
        save_model(target, network, replace(card, name=name or card.name))
        return ExportResult((_told(target),))
    if not (path / SETTINGS).is_file():
        raise RunError(f"{path} is neither a run (it has no {SETTINGS}) nor a model directory")
    settings = {k: v for k, v in read_settings(path).items() if k != "versions"}
    with open_run(path, settings) if out is None else nullcontext():
        return export_run(path, out=out, name=name)


def export_run(run: str | Path, *, out: str | Path | None = None, name: str | None = None) -> ExportResult:
    """All chosen networks of a run, or any one by `name`; for callers that hold the run's lock."""
    from ..exporters.onnx import NEEDED, have_onnx

    path = Path(run)
    records = read_networks(path)
    if name is not None and name not in {r["name"] for r in records}:
        raise UnknownNameError("model", name, [r["name"] for r in records])
    wanted = [r for r in records if (r["role"] == CHOSEN if name is None else r["name"] == name)]
    if not wanted:
        raise RunError(f"{path} has chosen no network yet")
    notes = [] if have_onnx() else [f"there are no ONNX files: {NEEDED}, then export again"]
    if name is None:
        notes += [f"{r['name']} was left out: {reason}" for r in wanted if (reason := missing_weights(path, r))]
        wanted = [r for r in wanted if not missing_weights(path, r)]
    paths = [export_network(path, r, out=out) for r in wanted]
    return ExportResult(tuple(map(_told, paths)), tuple(notes))


def _told(path: Path) -> Exported:
    from ..exporters.model import read_record

    record = read_record(path)
    size = sum(p.stat().st_size for p in path.iterdir())
    deviation = record["onnx"]["deviation"] if record["onnx"] else None
    return Exported(record["name"], str(path), record["macs"], record["params"], size, deviation)


def _line(model: Exported) -> str:
    onnx = "no ONNX file" if model.deviation is None else f"ONNX differs by {model.deviation:.0e}"
    costs = f"{show_quantity(model.macs)} MACs, {show_quantity(model.params)} parameters"
    return f"{model.path}  {costs}, {show_quantity(model.bytes)}B, {onnx}"
