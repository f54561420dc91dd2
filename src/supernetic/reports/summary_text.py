"""What a run says in words: numbers for people, how far it is, and the headline, honest also where little is known."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from .. import metrics
from ..objective import show_quantity
from ..ranking.sentences import (
    INTERVAL_REASON,
    NOT_SIGNIFICANT,
    TOO_SHORT,
    decided,
    footing,
    insignificance,
    not_significant,
    outcome,
    says_little,
    table_sentence,
)
from ..runs.files import FINISHED_NETWORKS, MODEL_RECORD, NETWORKS, SEARCH, SUPERNET, TRAINED_NETWORKS
from ..runs.view import Model, RunView

MINUS = "\N{MINUS SIGN}"
SPACE = "\N{NO-BREAK SPACE}"
UNKNOWN = "\N{EN DASH}"
STEPS = {  # of a search from images, and what each is called while it is still to come
    "check": "checking the data",
    "plan": "planning",
    "train": "training the supernet",
    "search": "searching",
    "compare": "training the candidates and their controls",
    "finish": "training the best models to the end",
    "test": "testing",
    "export": "exporting the models",
}
NUMBER_WORDS = (
    *("none", "one", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
)


def ensemble_text(run: RunView) -> str:
    """What a rank ensemble consists of, where the score is one."""
    if not run.proxies:
        return ""
    names = listed([of_score(run, name) for name in run.proxies])
    references = max(run.proxies.values())
    return f"The rank ensemble is the mean rank among {references} random networks (0 worst, 1 best) by {names}."


# --- numbers ----------------------------------------------------------------------------------------------------------


def typeset(sentence: str) -> str:
    """A sentence with a minus that is as wide as a plus in front of its numbers."""
    return re.sub(r"(?<![\w-])-(?=\d)", MINUS, sentence)


def short(name: str) -> str:
    """A metric's name for people without its split, where that goes without saying."""
    return metrics.label(name).removeprefix("validation ")


def by_supernet(run: RunView, name: str) -> bool:
    """Whether a score was measured with the supernet's weights; proxies and trainings of their own are not."""
    full = metrics.find(name).name
    return run.supernet and full.startswith("valid/") and full != "valid/subset_training"


def score_label(run: RunView, name: str) -> str:
    """A score's name for people, which says so where it is the supernet's: `supernet's cross-entropy`."""
    return f"supernet's {short(name)}" if by_supernet(run, name) else metrics.label(name)


def of_score(run: RunView, name: str) -> str:
    """The same in a sentence: `the supernet's cross-entropy`."""
    return f"the {score_label(run, name)}" if by_supernet(run, name) else metrics.label(name)


def show(name: str, value: float | None) -> str:
    """A metric's value with its unit."""
    if value is None or not isfinite(value):
        return UNKNOWN
    match metrics.find(name).unit:
        case metrics.MILLISECONDS:
            return f"{value:.3g}{SPACE}ms"
        case metrics.COUNT:
            return show_quantity(value)
        case metrics.PERCENT:
            return percent(value)
    return signed(f"{value:.4g}" if abs(value) < 1e4 else f"{value:.6g}")


def percent(value: float | None) -> str:
    """An accuracy."""
    return UNKNOWN if value is None else f"{value:.2f}{SPACE}%"


def points(value: float) -> str:
    """A difference of accuracies, in percentage points, with its sign."""
    return signed(f"{value:+.2f}")


def signed(text: str) -> str:
    """With a minus that is as wide as a plus."""
    return text.replace("-", MINUS)


def interval(low: float, high: float, digits: int = 2) -> str:
    """An interval in words."""
    return signed(f"{low:.{digits}f} to {high:.{digits}f}")


def duration(seconds: float) -> str:
    """2 h 5 min, 5 min 12 s, 3.4 s."""
    if seconds < 59.5:
        return f"{seconds:.1f}{SPACE}s" if seconds < 9.95 else f"{seconds:.0f}{SPACE}s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60}{SPACE}min" + (f" {whole % 60}{SPACE}s" if whole % 60 else "")
    minutes = round(seconds / 60)
    return f"{minutes // 60}{SPACE}h" + (f" {minutes % 60}{SPACE}min" if minutes % 60 else "")


def count(n: int, noun: str, plural: str = "") -> str:
    """One model, 3 models, 1,200 models."""
    return f"{'one' if n == 1 else f'{n:,}'} {noun if n == 1 else plural or noun + 's'}"


def number(n: int) -> str:
    """In a sentence: small numbers as words."""
    return NUMBER_WORDS[n] if n < len(NUMBER_WORDS) else f"{n:,}"


def listed(items: Sequence[str]) -> str:
    """a, b and c."""
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + f" and {items[-1]}" if items else ""


def capital(text: str) -> str:
    """With a capital letter to begin a sentence."""
    return text[:1].upper() + text[1:]


# --- how far it is ----------------------------------------------------------------------------------------------------


def missing(run: RunView) -> list[str]:
    """The steps that are still to come, the current one first; none when the run is finished."""
    if run.job != "search" or "table" in run.settings:
        step = "train" if run.job == "train" else "search"
        return [] if run.result else [step]
    tested = (run.path / NETWORKS).exists()
    done = {
        "check": bool(run.settings.get("data")),
        "plan": "plan" in run.settings,
        "train": (run.path / SUPERNET).exists() or bool(run.trials),
        "search": (run.path / SEARCH).exists(),
        "compare": tested or (run.path / TRAINED_NETWORKS).exists(),
        "finish": tested or (run.path / FINISHED_NETWORKS).exists(),
        "test": bool(run.trust),
        "export": bool(run.chosen) and all(MODEL_RECORD in m.files or m.failed for m in run.chosen),
    }
    return [step for step in STEPS if not done[step]]


def status(run: RunView) -> str:
    """Such as: training the supernet, step 300 of 2,000."""
    left = missing(run)
    if not left:
        return "finished"
    if left[0] == "train" and run.curves:
        steps = total_steps(run.settings)
        return f"training the supernet, step {run.curves[0].steps[-1]:,}" + (f" of {steps:,}" if steps else "")
    if left[0] == "search" and run.trials:
        return f"searching, {sum(run.statuses.values()):,} architectures scored"
    if left[0] == "compare":
        planned = run.settings.get("plan", {}).get("networks")
        return f"training networks, {run.trained}{f' of {planned}' if planned else ''} done"
    return f"next: {STEPS[left[0]]}"


def total_steps(settings: Mapping[str, Any]) -> int | None:
    """Steps of the supernet's training, where the settings say so."""
    steps = settings.get("steps") or settings.get("plan", {}).get("supernet_steps")
    return int(steps) if steps else None


# --- the headline -----------------------------------------------------------------------------------------------------


def title(run: RunView) -> str:
    """What was done on what."""
    space = run.settings.get("space", "")
    name = (space.get("name", "") if isinstance(space, Mapping) else str(space)) or run.search.space
    where = data_name(run)
    what = {"train": "Supernet of ", "search": "Search of "}.get(run.job, "Run ")
    return f"{what}{name or run.path.name}" + (f" on {where}" if where else "")


def data_name(run: RunView) -> str:
    """What the run calls its images; nothing if it has none."""
    data = run.settings.get("data", {})
    return str(data.get("name", "")) if isinstance(data, Mapping) else ""


def budgets(run: RunView) -> str:
    """The limits, as they were asked for, with the names of metrics for people."""
    return listed([show_limit(w) for w in limits(run)])


def limits(run: RunView) -> list[str]:
    """The limits, as they were asked for."""
    asked = run.asked.get("where") or run.search.where or run.settings.get("where") or ()
    return [w for w in ([asked] if isinstance(asked, str) else asked) if isinstance(w, str)]


def show_limit(text: str) -> str:
    """A constraint with its metric's name for people."""
    name = re.match(r"\s*([\w./-]+)", text)
    if not name:
        return text
    rest = text[name.end() :].strip()
    for sign, shown in (("<=", "≤"), (">=", "≥"), ("<", "<"), (">", ">")):
        if rest.startswith(sign):
            rest = f"{shown}{SPACE}{rest.removeprefix(sign).strip()}"
            break
    return f"{metrics.label(name[1])}{SPACE}{rest}"


def headline(run: RunView) -> list[str]:
    """Say the most important things about a run.

    Args:
        run: The run.

    Returns:
        Sentences: the models, how far the ranking can be trusted, the controls, the best place in a benchmark's table.
    """
    trust = trust_of_data(run)
    tau, table = trust.get("tau") or {}, trust.get("table")
    scored = "the supernet's score" if by_supernet(run, tau.get("score", "")) else "the score"
    sentences = (
        "" if run.recommended else _models(run),  # else the recommendation says it
        _trust(tau, scored),
        _controls(trust),
        table_sentence(table, table) if table else "",
    )
    return [s for s in sentences if s]


def trust_of_data(run: RunView) -> Mapping[str, Any]:
    """The facts of `trust.json`, without places in a benchmark's table that is about other images than the run."""
    table = run.trust.get("table")
    if not table or _plain(table.get("dataset")) == _plain(data_name(run)):
        return run.trust
    return {**run.trust, "table": None}


def _plain(dataset: Any) -> str:
    """`CIFAR-10` is `cifar10`."""
    return str(dataset or "").replace("-", "").lower()


def _models(run: RunView) -> str:
    if not run.chosen:
        return _progress(run)
    within = f" within {budget}" if (budget := budgets(run)) else ""
    head = f"{capital(number(len(run.chosen)))} {'model' if len(run.chosen) == 1 else 'models'}{within}"
    tested = [m for m in run.chosen if m.accuracy is not None]
    if tested:
        each = listed([f"{m.name} reaches {percent(m.accuracy)}{_at(m)}" for m in tested])
        return f"{head}: on test images {each}."
    name = run.score.name
    each = listed([f"{m.name} has {show(name, m.score[name])}{_at(m)}" for m in run.chosen if name in m.score])
    return f"{head}, by {of_score(run, name)}: {each}." if each else ""


def _at(model: Model) -> str:
    return "" if model.macs is None else f" at {show_quantity(model.macs)}{SPACE}MACs"


def _progress(run: RunView) -> str:
    if run.job == "train" and run.curves:
        c = run.curves[0]
        return f"After {c.steps[-1]:,} steps the training loss is {c.losses[-1]:.4g}."
    scores = [t.metrics[run.score.name] for t in run.trials if run.score.name in t.metrics]
    if not scores:
        return ""
    best = max(scores) if run.score.maximise else min(scores)
    scored = capital(count(sum(run.statuses.values()), "architecture"))
    return f"{scored} scored; by {of_score(run, run.score.name)}, the best so far has {show(run.score.name, best)}."


def _trust(tau: Mapping[str, Any] | None, score: str = "the score") -> str:
    if not tau or tau.get("value") is None:
        return ""
    if tau.get("significant"):
        verdict = "better scores go with better networks"
    elif tau.get("high") is not None and tau["high"] < 0:
        verdict = "better scores go with worse networks, so do not trust this ranking"
    else:
        verdict = insignificance(tau)
    truth = metrics.label(str(tau.get("truth") or "accuracy").partition(" ")[0].rpartition("/")[2])
    return f"{tau_text(tau)} between {score} and {truth} after training: {verdict}."


def tau_text(tau: Mapping[str, Any]) -> str:
    """Kendall's tau with its interval and n."""
    known = tau.get("low") is not None and tau.get("high") is not None
    bounds = f"95{SPACE}% interval {interval(tau['low'], tau['high'])}, " if known else ""
    return f"Kendall's tau is {signed(format(tau['value'], '.2f'))} ({bounds}n{SPACE}={SPACE}{tau['n']})"


def _controls(trust: Mapping[str, Any]) -> str:
    """How many comparisons with controls were won and lost, of those whose networks were trained for long enough."""
    every = decided(trust)
    comparisons = [c for c in every if not says_little(c)]
    if every and not comparisons:
        return f"Models and controls were trained alike for {footing(every)}, which is {TOO_SHORT}."
    if not comparisons:
        return ""
    counts = Counter(outcome(c["low"], c["high"]) for c in comparisons)
    better, worse, rest = counts["better"], counts["worse"], counts[NOT_SIGNIFICANT]
    many = f"{number(len(comparisons))} {'comparison' if len(comparisons) == 1 else 'comparisons'}"
    alike = f" trained alike for {trained}" if (trained := footing(comparisons)) else ""
    models = "the model is" if len({c["model"] for c in comparisons}) == 1 else "the models are"
    text = f"Of {many} with controls{alike}, on test images, {models} significantly better in {number(better)}"
    text += f" and significantly worse in {number(worse)}" if worse else ""
    reason = not_significant(explained=INTERVAL_REASON in _trust(trust.get("tau")))
    return text + (f"; {number(rest)} {'is' if rest == 1 else 'are'} {reason}." if rest else ".")
