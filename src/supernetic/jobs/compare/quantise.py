"""The step `quantise`: the models in 8-bit integers, before any of them meets the test split.

int8/NAME.onnx    the quantised models; `test` evaluates these files, and `export` copies them
quantised.json    by name: what a model loses on validation images and the file's digest, or why there is none
"""

from __future__ import annotations

import json
from typing import Any

from ...errors import SupernetError
from ...progress import Event, OnEvent
from ...ranking.int8 import loses_much, warning
from ...runs.directory import Run
from ...runs.files import QUANTISED
from ...runs.records import read_trained_networks
from .comparison import QUANTISE, Comparison
from .export import missing_weights, read_network
from .int8 import keep_int8, quantise_network


def quantise_models(comparison: Comparison, run: Run, send: OnEvent) -> None:
    """Take the step `quantise`: every chosen network, with the weights that will be exported.

    Args:
        comparison: The data.
        run: The run.
        send: Receives progress, and a warning for a model that loses much.
    """
    from ...exporters.onnx import NEEDED, have_onnx

    chosen = [r for r in read_trained_networks(run.path) if r.chosen and not missing_weights(run.path, r)]
    entries: dict[str, dict[str, Any]] = {}
    if not have_onnx():
        send(Event(QUANTISE, f"the models have no int8 file: {NEEDED}"))
        chosen = []
    for i, record in enumerate(chosen, 1):
        try:
            made = quantise_network(read_network(run.path, record), comparison.dataset, comparison.seed)
        except SupernetError as error:
            send(Event(QUANTISE, f"{record.name} has no int8 file: {error}"))
            entries[record.name] = {"failed": str(error)}
            continue
        entries[record.name] = keep_int8(run.path, record.name, made)
        if loses_much(made.facts):
            send(Event(QUANTISE, warning(record.name, made.facts)))
        send(Event(QUANTISE, record.name, done=i, total=len(chosen)))
    run.write(QUANTISED, json.dumps(entries, indent=1) + "\n")
