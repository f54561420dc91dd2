"""`export`: the networks that a search chose as model directories; a model directory anew; or trials for Optuna."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import RunError, SupernetError, UnknownNameError
from ..jobs.compare.export import export_network, missing_weights, read_network
from ..jobs.compare.int8 import measured_int8, require_mode, stored_int8
from ..jobs.train.supernet_run import data_of
from ..objective import show_quantity
from ..ranking.int8 import Facts, difference_text
from ..reading import exists
from ..result import Result
from ..runs.directory import SETTINGS, naming_damage, open_run, read_settings
from ..runs.files import MODEL_PROGRAM, MODEL_RECORD
from ..runs.records import NetworkRecord, int8_of, read_networks
from ..runs.trust import opens_runs, require_name
from ..trials import read_trials

if TYPE_CHECKING:
    from ..exporters.int8 import Int8


@dataclass(frozen=True)
class Exported:
    """One model directory."""

    name: str
    path: str
    macs: int
    params: int
    bytes: int  # of all its files
    deviation: float | None  # of the ONNX file's logits, relative to the largest; none without such a file
    int8: Facts | None = None  # what was measured of the quantised file; none without such a file


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
    source: str | Path,
    *,
    out: str | Path | None = None,
    name: str | None = None,
    int8: str = "auto",
    pt2: bool = False,
    optuna: str | Path | None = None,
    trust_code: bool = False,
) -> ExportResult:
    """Export all chosen networks of a search's run, or one by `name`; or a model directory again.

    Models go to `OUT/NAME`, by default `RUN/models/NAME`. A model directory is verified and written in place, or to
    `OUT` or under another `name`; it gets the ONNX file if it had none. Its other files are kept. Networks of a run
    that were not quantised there are quantised now, if the run's images are still there.

    Args:
        source: The run of a search, or a model directory.
        out: The directory in which model directories are made.
        name: The network of the run to export, or the new name of the model.
        int8: Whether models have a quantised file too: `auto` (where the extra `export` is installed) or `no`.
        pt2: Whether models have a file for torch.export too, `model.pt2`.
        optuna: Export no models but the trials of the search, finished or not: into this storage of Optuna, a SQLite
            file or a URL. The study is called `name`, by default like the run.
        trust_code: Run Python code that a run directory names (docs/received-runs.md).

    Returns:
        The model directories, and notes on networks that were left out.
    """
    quantises = require_mode(int8)
    if name is not None:
        require_name(name)
    path = Path(source)
    if not exists(path / SETTINGS) and not exists(path / MODEL_RECORD):
        raise RunError(f"{path} is neither a run (it has no {SETTINGS}) nor a model directory")
    from ..exporters.model import is_model, load_model, read_card, read_int8, save_model

    if optuna is not None:
        study = name or path.resolve().name
        added = read_trials(path).to_optuna(optuna, study)
        return ExportResult((), (f"{optuna}: {added:,} trials were added to the study {study!r}",))
    if is_model(path):
        network, card = load_model(path), read_card(path)
        target = path if out is None and name is None else Path(out or path.resolve().parent) / (name or card.name)
        quantised = read_int8(path) if quantises else None
        with naming_damage(path / MODEL_RECORD):
            program = pt2 or exists(path / MODEL_PROGRAM)
            save_model(target, network, replace(card, name=name or card.name), int8=quantised, program=program)
            return ExportResult((_exported(target),))
    settings = {k: v for k, v in read_settings(path).items() if k != "versions"}
    with open_run(path, settings) if out is None else nullcontext(), naming_damage(path):
        return export_run(path, out=out, name=name, int8=int8, pt2=pt2)


def export_run(
    run: str | Path,
    *,
    out: str | Path | None = None,
    name: str | None = None,
    int8: str = "auto",
    pt2: bool = False,
) -> ExportResult:
    """Export the networks of a run; for callers that hold the run's lock.

    Args:
        run: The run directory.
        out: The directory in which model directories are made; `RUN/models` by default.
        name: The one network to export, a control too; by default all chosen ones.
        int8: Whether models have a quantised file too: `auto` or `no`.
        pt2: Whether models have a file for torch.export too.

    Returns:
        The model directories, and notes on networks that were left out.
    """
    from ..exporters.onnx import NEEDED, have_onnx

    path = Path(run)
    records = read_networks(path)
    if name is not None and name not in {r.name for r in records}:
        raise UnknownNameError("model", name, [r.name for r in records])
    requested = [r for r in records if (r.chosen if name is None else r.name == name)]
    if not requested:
        raise RunError(f"{path} has chosen no network yet")
    notes = [] if have_onnx() else [f"there are no ONNX files: {NEEDED}, then export again"]
    if name is None:
        notes += [f"{r.name} was left out: {reason}" for r in requested if (reason := missing_weights(path, r))]
        requested = [r for r in requested if not missing_weights(path, r)]
    quantised, more = _quantised(path, requested) if require_mode(int8) and have_onnx() else ({}, [])
    paths = [export_network(path, r, out=out, int8=quantised.get(r.name), program=pt2) for r in requested]
    return ExportResult(tuple(map(_exported, paths)), (*notes, *more))


def _quantised(run: Path, records: Sequence[NetworkRecord]) -> tuple[dict[str, Int8], list[str]]:
    """By name, the networks quantised, as the run holds them or made now; and notes on those that cannot be."""
    stored = {r.name: stored_int8(run, r) for r in records}
    found = {name: int8 for name, int8 in stored.items() if int8 is not None}
    missing = [r for r in records if r.name not in found]
    if not missing:
        return found, []
    settings = read_settings(run)
    try:
        dataset = data_of(run, settings)
    except SupernetError as error:
        return found, [f"{r.name} has no int8 file: {error}" for r in missing]
    notes = []
    for r in missing:
        int8, reason = measured_int8(read_network(run, r), dataset, settings.get("seed", 0))
        if int8 is None:
            notes.append(f"{r.name}: {reason}")
        else:
            found[r.name] = int8
    return found, notes


def _exported(path: Path) -> Exported:
    from ..exporters.model import read_record

    record = read_record(path)
    size = sum(p.stat().st_size for p in path.iterdir())
    deviation = record["onnx"]["deviation"] if record["onnx"] else None
    int8 = int8_of(record, path)
    return Exported(record["name"], str(path), record["macs"], record["params"], size, deviation, int8)


def _line(model: Exported) -> str:
    onnx = "no ONNX file" if model.deviation is None else f"ONNX differs by {model.deviation:.0e}"
    costs = f"{show_quantity(model.macs)} MACs, {show_quantity(model.params)} parameters"
    lost = "" if model.int8 is None else difference_text(model.int8, "valid")
    int8 = "no int8 file" if model.int8 is None else f"int8 {lost} by validation" if lost else "int8"
    return f"{model.path}  {costs}, {show_quantity(model.bytes)}B, {onnx}, {int8}"
