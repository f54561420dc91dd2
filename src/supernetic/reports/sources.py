"""Where each number of a network comes from: counted, measured, a proxy's, the supernet's, or of its own training."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import RunError
from ..metrics import PROXY, TABLE_GROUP, label
from ..objective import show_quantity
from ..ranking.ensemble import RANK
from ..ranking.sentences import show_epochs
from ..runs.directory import read_settings
from ..runs.files import NETWORK_TRAININGS
from ..runs.records import INHERITED, NetworkRecord
from ..runs.view import Model, RunView
from .recommendation import epochs_of
from .summary_text import listed, percent, show

COUNTED_PROXIES = ("layers", "live_macs", "live_params")  # they read the blueprint and run no network
OF_SUPERNET = ("valid/cross_entropy", "valid/calibrated_cross_entropy", "valid/accuracy")
ANGLE, SUBSET = "proxy/angle", "valid/subset_training"


def number_sources(model: Model, run: RunView) -> list[str]:
    """Say what is known of a network, and where each number comes from.

    Args:
        model: The network.
        run: What the files of its run say.

    Returns:
        Lines: numbers, a colon, their source; those of one source are in one line.
    """
    record = next((n for n in run.networks if n.name == model.name), None)
    return [
        *_costs(model, record),
        *_scores(model, run),
        *_trained(model, record, run),
        *_tested(model, run),
    ]


def _costs(model: Model, record: NetworkRecord | None) -> Iterator[str]:
    costs = {"MACs": model.macs, "parameters": model.params}
    known = [f"{show_quantity(value)} {unit}" for unit, value in costs.items() if value is not None]
    if known:
        yield f"{', '.join(known)}: counted"
    if model.latency is not None:
        engine = ((record.latency if record else None) or {}).get("engine")
        how = f"measured with {engine}, one thread" if engine else "the sum over its layers, each measured once"
        yield f"{show('latency/ms', model.latency)} an image: {how}"


def _scores(model: Model, run: RunView) -> Iterator[str]:
    """Numbers that the search had before any network was trained on its own; those of one source together."""
    by_source: dict[str, list[str]] = {}
    for name, value in model.score.items():
        by_source.setdefault(score_source(name, run), []).append(f"{label(name)} {show(name, value)}")
    for source, numbers in by_source.items():
        yield f"{', '.join(numbers)}: {source}"


def score_source(name: str, run: RunView) -> str:
    """Say where a metric that architectures were searched by comes from.

    Args:
        name: The metric's full name.
        run: What the files of the run say.

    Returns:
        A few words.
    """
    short = name.removeprefix(PROXY)
    if name == RANK:
        return _ensemble(run)
    if name.startswith(TABLE_GROUP):
        table = _request(run).get("table")
        return f"the benchmark table {table}" if isinstance(table, str) else "the benchmark table"
    if name == SUBSET:
        return "a training of this network on a small subset, by the search"
    if name == ANGLE or (name in OF_SUPERNET and run.supernet):
        return _by_supernet(run)
    if short in COUNTED_PROXIES:
        return "counted"
    if name.startswith(PROXY):
        return "before any training, by zero-cost proxies"
    function = run.settings.get("evaluate")
    if isinstance(function, Mapping) and "function" in function:
        return f"the function {function['function']}"
    return "the evaluator that the search was given"


def _by_supernet(run: RunView) -> str:
    steps = run.settings.get("steps")
    after = f", after {steps:,} steps of its training" if isinstance(steps, int) else ""
    return f"by the supernet{after}"


def _ensemble(run: RunView) -> str:
    if not run.proxies:
        return "the mean rank by several zero-cost proxies"
    names = [f"the supernet's {label(n)}" if n in OF_SUPERNET else label(n) for n in run.proxies]
    references = f"{max(run.proxies.values())} random networks"
    return f"the mean rank among {references} (0 worst, 1 best) by {listed(names)}"


def _trained(model: Model, record: NetworkRecord | None, run: RunView) -> Iterator[str]:
    """Validation accuracy after the first round, and after all training."""
    if model.failed:
        yield f"no accuracy: its training failed ({model.failed})"
    rounds = int(run.trust.get("rounds") or 0)
    if model.went_on and (first := _accuracies(model.first)):
        steps = _first_steps(record, run)
        length = "" if steps is None else f", {_length(steps, run)}"
        yield f"{first}: after the first round{length}, in which all networks were trained alike"
    if last := _accuracies(model.trained):
        length = "its own training" if model.steps is None else _length(model.steps, run)
        if model.went_on:
            race = f", in a race of {rounds} rounds and after it" if rounds > 1 else ""
            yield f"{last}: after {length} in all{race}"
        else:
            yield f"{last}: after {length}" + (f", in the first of {rounds} rounds" if rounds > 1 else "")


def _tested(model: Model, run: RunView) -> Iterator[str]:
    accuracy = model.accuracy
    if accuracy is None:
        return
    images = run.trust.get("test_images")
    split = f"on {images:,} test images" if isinstance(images, int) else "on the test split"
    if model.exported_weights == INHERITED:
        weights = "with the supernet's weights, which are the model's"
    elif model.steps is None:
        weights = "after its own training"
    else:
        weights = f"after {_length(model.steps, run)}"
    yield f"test accuracy {percent(accuracy)}: {split}, {weights}"
    if model.exported_weights == INHERITED and model.trained and "test/accuracy" in model.test:
        after = "its own training" if model.steps is None else _length(model.steps, run)
        own = percent(model.test["test/accuracy"])
        yield f"test accuracy {own}: {split}, after {after}, with weights that are not the model's"


def _accuracies(metrics: Mapping[str, float]) -> str:
    return ", ".join(f"{label(k)} {show(k, v)}" for k, v in metrics.items() if "accuracy" in k)


def _length(steps: int, run: RunView) -> str:
    epochs = epochs_of(steps, run.trust)
    return f"{steps:,} steps" + ("" if epochs is None else f" ({show_epochs(epochs)} epochs)")


def _first_steps(record: NetworkRecord | None, run: RunView) -> int | None:
    """Updates of the first round, from the settings of that training; its name was checked when it was read."""
    if record is None or not record.first_key:
        return None
    try:
        recipe = read_settings(run.path / NETWORK_TRAININGS / record.first_key).get("recipe")
    except RunError:
        return None
    number, _, unit = str(recipe.get("length") if isinstance(recipe, Mapping) else "").partition(" ")
    return int(number) if number.isdecimal() and unit.startswith("step") else None


def _request(run: RunView) -> Mapping[str, Any]:
    request = run.settings.get("request")
    return request if isinstance(request, Mapping) else {}
