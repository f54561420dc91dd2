"""The last step of a finish: everything in the run that speaks of the network says the same again.

The run's `networks.json` is replaced at once: from then on the network is the new one, and what follows is made from
that record (the model directory, written beside the old one and swapped; `result.json`; the report). Until then all is
as it was. Every part can be repeated: interrupted anywhere, the next call takes the whole step again.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...errors import RunError
from ...progress import Event, OnEvent
from ...reports import write_report
from ...reports.run_space import space_in
from ...reports.scale import write_scale
from ...runs.directory import Run
from ...runs.files import CORRECT, MISTAKES, NETWORKS, PREDICTIONS, QUANTISED, RESULT
from ...runs.predictions import MOST_MISTAKES, Predictions, mistakes_text, read_mistakes, read_predictions
from ...runs.records import networks_text, read_json, read_networks
from ..compare.comparison import EXPORT
from ..compare.export import export_network
from ..compare.int8 import keep_int8, stored_int8
from ..scale.result import read_family
from ..search.result import read_result
from .outcome import Outcome


def write_back(run: Run, place: Path, outcome: Outcome, send: OnEvent) -> None:
    """Put the network that was trained further in the place of the old one; nothing is done if the old one stays.

    Args:
        run: The run that the network is of.
        place: The directory of the finish.
        outcome: What the finish led to.
        send: Receives progress.
    """
    if not outcome.replaced:
        return
    name = outcome.network.name
    run.write(CORRECT, json.dumps(_with_correct(run.path, name, outcome)) + "\n")
    _write_predictions(run, place, name)
    _write_int8(run, place, outcome)
    records = read_networks(run.path)
    if name not in {r.name for r in records}:
        raise RunError(f"{run.path / NETWORKS} has no network {name!r} any more")
    run.write(NETWORKS, networks_text(outcome.network if r.name == name else r for r in records))
    send(Event(EXPORT, name, done=0, total=1))
    export_network(run.path, outcome.network, int8=stored_int8(run.path, outcome.network))
    send(Event(EXPORT, name, done=1, total=1))
    scaled = run.settings.get("job") == "scale"
    result = read_family(run.path) if scaled else read_result(run.path)
    run.write(RESULT, json.dumps(result.to_json(), indent=1) + "\n")
    if scaled:
        write_scale(run.path)
    else:
        write_report(run.path, space_in(run.path)[0])


def require_readable(run: Run) -> None:
    """Refuse a run whose files could not be written anew, before anything is trained."""
    _correct(run.path)
    _quantised(run.path)
    read_predictions(run.path, len(run.settings["data"]["classes"]))
    read_mistakes(run.path)


def _correct(run: Path) -> dict[str, Any]:
    stored = read_json(run / CORRECT)
    tables = stored if isinstance(stored, dict) else {}
    for name in ("finished", "int8"):
        if not isinstance(tables.get(name, {} if name == "int8" else None), dict):
            raise RunError(f"{run / CORRECT} must be a table of tables, one of them `{name}`")
    return tables


def _quantised(run: Path) -> dict[str, Any]:
    entries = read_json(run / QUANTISED) if (run / QUANTISED).exists() else {}
    if not isinstance(entries, dict):
        raise RunError(f"{run / QUANTISED} must be a table, got {type(entries).__name__}")
    return entries


def _with_correct(run: Path, name: str, outcome: Outcome) -> dict[str, Any]:
    """`correct.json` with the test images that the network gets right now, beside those after the first round."""
    stored = _correct(run)
    quantised = {k: v for k, v in stored.get("int8", {}).items() if k != name}
    if outcome.correct_int8:
        quantised[name] = outcome.correct_int8
    return {**stored, "finished": {**stored["finished"], name: outcome.correct}, "int8": quantised}


def _write_predictions(run: Run, place: Path, name: str) -> None:
    """What the network says of the test images now, in place of what it said before."""
    classes = len(run.settings["data"]["classes"])
    old, new = read_predictions(run.path, classes), read_predictions(place, classes)
    if old is None or new is None:
        return
    others = {n: p for n, p in old.networks.items() if n not in (name, *new.networks)}
    run.write(PREDICTIONS, Predictions(old.labels, {**others, **new.networks}).text())
    pictures = {**read_mistakes(place), **read_mistakes(run.path)}  # the new ones first: there is room for so many
    run.write(MISTAKES, mistakes_text(dict(list(pictures.items())[:MOST_MISTAKES])))


def _write_int8(run: Run, place: Path, outcome: Outcome) -> None:
    """The file in 8-bit integers; an old one goes, if there is no new one."""
    name, made = outcome.network.name, stored_int8(place, replace(outcome.network, int8=None))
    kept = {k: v for k, v in _quantised(run.path).items() if k != name}
    if made is not None:
        kept[name] = keep_int8(run.path, name, made)
    run.write(QUANTISED, json.dumps(kept, indent=1) + "\n")
