"""Why a model of `select`: its numbers, each with its source, and the models that it is better or worse than."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import RunError, UnknownNameError
from ..metrics import label
from ..objective import show_quantity
from ..ranking.sentences import NOT_SIGNIFICANT, outcome
from ..runs.files import SELECT
from ..runs.records import read_json
from .summary_text import count, interval, listed, show

DECIDING = "calibrated_cross_entropy"
WORDS = {
    "better": "significantly better than",
    NOT_SIGNIFICANT: "no significant difference from",
    "worse": "significantly worse than",
}


def why_selected(run: Path, model: str) -> list[str]:
    """Say what is known of a model that was compared with others on subsets.

    Args:
        run: The run directory of `select`.
        model: The model's name.

    Returns:
        Lines, from the run's files alone.
    """
    record = read_json(run / SELECT)
    try:
        if model not in record["models"]:
            raise UnknownNameError("model", model, record["models"])
        return [model, *(f"  {line}" for line in _numbers(record, model)), *_rivals(record, model)]
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise RunError(f"{run / SELECT} is not what select writes: {type(error).__name__}: {error}") from None


def _numbers(record: Mapping[str, Any], model: str) -> Iterator[str]:
    macs, params = record["costs"][model]
    yield f"{show_quantity(macs)} MACs, {show_quantity(params)} parameters: counted"
    start = record.get("starts", {}).get(model)
    if start:
        yield f"it began with the pretrained weights of {start}: learned from other images"
    tried = [f"{rate:g}" for rate in record["tried"]]
    if start and len(tried) > 1:
        yield f"learning rate {record['rates'][model]:g}: the best of {len(tried)} for pretrained models"
    elif len(tried) > 1:
        yield f"learning rate {record['rates'][model]:g}: the best of {listed(tried)}"
    else:
        yield f"learning rate {record['rates'][model]:g}: as given"
    images, seeds = record["sizes"][-1], record["seeds"][-1]
    numbers = [f"{label(name)} {show(name, means[model][-1])}" for name, means in record["table"].items()]
    mean = f", the mean of {seeds} seeds" if seeds > 1 else ""
    scored = count(record["scored"], f"{record['on']} image")
    yield f"{', '.join(numbers)}: on {scored}, after its own training on {images:,} images{mean}"


def _rivals(record: Mapping[str, Any], model: str) -> Iterator[str]:
    """The decision compares the chosen model with all others; another model is compared with the chosen one."""
    decision = record["decision"]
    if not decision:
        return
    for rival in decision["rivals"]:
        if decision["model"] == model:
            other, difference, low, high = rival["model"], rival["difference"], rival["low"], rival["high"]
        elif rival["model"] == model:
            other, difference, low, high = decision["model"], -rival["difference"], -rival["high"], -rival["low"]
        else:
            continue
        lead = f"{abs(difference):.3f} nats {'lower' if difference >= 0 else 'higher'}"
        yield (
            f"{WORDS[outcome(low, high)]} {other}: {label(DECIDING)} {lead} "
            f"(95 % interval of the lead {interval(low, high)})"
        )
