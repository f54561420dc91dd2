"""Which model of a search to take, and why: the same sentences in the command's last lines and on the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..metrics import label
from ..objective import show_quantity
from ..ranking.int8 import int8_sentences, loses_much, warning
from ..ranking.sentences import TOO_SHORT, show_epochs
from ..ranking.trust import wilson
from ..ranking.verdict import too_short
from ..runs.records import NetworkRecord, TeacherRecord, recommended_network
from .finishes import finish_sentences

ACCURACY = "test/accuracy"
SHORT_SHARE = 0.5  # of the recommended model's steps: a model that had fewer is not at its end


def recommendation(networks: Sequence[NetworkRecord], trust: Mapping[str, Any]) -> list[str]:
    """Say which model to take.

    Args:
        networks: The records of a run.
        trust: The facts of `trust.json`, for the numbers of rounds, steps and test images.

    Returns:
        Sentences: the model with its accuracy, costs and latency; why this one; what it is in int8; cheaper models.
        None if the run recommends none.
    """
    model = recommended_network(networks)
    if model is None:
        return []
    others = [n for n in networks if n.chosen and n is not model]
    return [
        f"Take {model.name}: {', '.join(_facts(model, trust))}.",
        f"Why: {'. '.join(why_recommended(model, networks, trust))}.",
        *finish_sentences(networks, trust),
        *(int8_sentences(model.name, model.int8) if model.int8 else ()),
        *(_cheaper(other, model, trust) for other in others),
        *(warning(other.name, other.int8) for other in others if other.int8 and loses_much(other.int8)),
    ]


def why_recommended(model: NetworkRecord, networks: Sequence[NetworkRecord], trust: Mapping[str, Any]) -> Iterator[str]:
    """Say why a model is the recommended one.

    Args:
        model: Its record.
        networks: The records of its run.
        trust: The facts of `trust.json`.

    Yields:
        Sentences without their full stops.
    """
    rivals = [n for n in networks if n.trained and not n.failed]
    rounds = int(trust.get("rounds") or 0)
    length = trained_for(model, trust)
    if model.trained is None:
        yield f"of {_networks(len(networks))}, it is the best with the supernet's weights"
    elif len(rivals) == 1:
        yield f"the time was too short for a race, so it is the only network that was trained: for {length}"
    elif rounds > 1:
        yield (
            f"it won a race of {_networks(len(rivals))} in {rounds} rounds, by the {decided_by(trust)} to be expected "
            f"at the end, and was trained for {length} in all"
        )
    else:
        alike = f"it had the best {decided_by(trust)} of {_networks(len(rivals))} that were trained alike"
        yield f"{alike}, and was trained for {length} in all" if model.first_key else f"{alike}, for {length}"
    if model.arch is None and model.label:
        yield f"{model.name} is the {model.label}{_against_the_space(rivals, trust)}"
    if model.teacher is not None:
        told = (
            "It learnt from a larger network as well"
            if model.teacher.asked
            else "It did not learn from the teacher, which knew no more than it was expected to"
        )
        yield f"{told}: {_teacher(model.teacher, trust)}"
    if model.exports_inherited and model.trained is not None:
        yield "Its weights are the supernet's: on validation images they are better than those of its own training"


def decided_by(trust: Mapping[str, Any]) -> str:
    """The metric by which networks were compared, in words."""
    return label(str(trust.get("decides", "valid/accuracy")))


def _against_the_space(rivals: Sequence[NetworkRecord], trust: Mapping[str, Any]) -> str:
    """How networks of the space did in a race that a control has won."""
    steps = [n.steps for n in rivals if n.arch is not None and n.steps is not None]
    if not steps:
        return ", not a network of the space"
    epochs = epochs_of(min(steps), trust)
    length = f"{min(steps):,} steps" if len(set(steps)) == 1 else f"{min(steps):,} to {max(steps):,} steps"
    little = "" if epochs is None or not too_short([epochs]) else f", but {length} are {TOO_SHORT}"
    return f": no network of the space did better in the race{little}"


def trained_for(network: NetworkRecord | TeacherRecord, trust: Mapping[str, Any]) -> str:
    """How long a network was trained, such as `12,340 steps (37 epochs)`."""
    if network.steps is None:
        return "an unknown number of steps"
    epochs = epochs_of(network.steps, trust)
    return f"{network.steps:,} steps" + ("" if epochs is None else f" ({show_epochs(epochs)} epochs)")


def epochs_of(steps: int | None, trust: Mapping[str, Any]) -> float | None:
    """Epochs of a training; None if the run does not say how long an epoch is."""
    per_epoch = trust.get("steps_per_epoch")
    return None if steps is None or not per_epoch else steps / per_epoch


def _facts(model: NetworkRecord, trust: Mapping[str, Any]) -> Iterator[str]:
    """Accuracy with its interval, costs, latency."""
    accuracy = _accuracy(model, trust)
    if accuracy:
        yield accuracy
    decides = str(trust.get("decides", "")).replace("valid/", "test/")
    if decides and (value := (model.exported_test or {}).get(decides)) is not None:
        yield f"{label(decides)} {value:.2f} %"
    for cost, unit in ((model.macs, "MACs"), (model.params, "parameters")):
        if cost is not None:
            yield f"{show_quantity(cost)} {unit}"
    milliseconds = (model.latency or {}).get("latency/ms")
    if isinstance(milliseconds, int | float):
        yield f"{milliseconds:.3g} ms an image ({(model.latency or {}).get('engine', 'eager')}, one thread)"


def _teacher(teacher: TeacherRecord, trust: Mapping[str, Any]) -> str:
    """What it was, and what it knew."""
    knows = teacher.trained.get("valid/accuracy")
    right = "" if knows is None else f"{knows:.2f} % of the validation images right after "
    return f"a {teacher.label} of {show_quantity(teacher.macs)} MACs, {right}{trained_for(teacher, trust)}"


def _accuracy(model: NetworkRecord, trust: Mapping[str, Any]) -> str:
    value = (model.exported_test or {}).get(ACCURACY)
    if value is None:
        return ""
    images = trust.get("test_images")
    low, high = wilson(value / 100, images) if images else (None, None)
    bounds = "" if low is None or high is None else f" [{100 * low:.1f}, {100 * high:.1f}]"
    return f"{value:.2f} % of the test images right{bounds}"


def _cheaper(other: NetworkRecord, model: NetworkRecord, trust: Mapping[str, Any]) -> str:
    """A model that is handed over beside the recommended one."""
    costs = show_quantity(other.macs) if other.macs is not None else "unknown"
    saved = 1 - other.macs / model.macs if other.macs is not None and model.macs else None
    less = f"costs {100 * saved:.0f} % less ({costs} MACs)" if saved is not None else f"has {costs} MACs"
    accuracy = _accuracy(other, trust) or "not tested"
    short = other.steps is not None and model.steps is not None and other.steps < SHORT_SHARE * model.steps
    further = f" That is short beside {model.name}: `supernetic finish` trains it further." if short else ""
    return f"{other.name} {less}: {accuracy}, trained for {trained_for(other, trust)}.{further}"


def _networks(n: int) -> str:
    return f"{n:,} network" + ("" if n == 1 else "s")
