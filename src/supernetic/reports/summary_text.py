"""What a run says in words: numbers for people, how far it is, and the headline, honest also where little was shown."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from ..objective import show_quantity
from ..runs.records import Model, Record

MINUS = "\N{MINUS SIGN}"
SPACE = "\N{NO-BREAK SPACE}"
UNKNOWN = "\N{EN DASH}"
STEPS = {  # of a search from images, and what each is called while it is still to come
    "check": "the check of the data",
    "plan": "the plan",
    "train": "training the supernet",
    "search": "the search",
    "compare": "training the chosen models and their controls",
    "test": "the test",
    "export": "the exported models",
}
WORDS = ["none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
NAMES = {
    "cost/macs": "MACs",
    "cost/params": "parameters",
    "cost/peak": "peak activations",
    "latency/ms": "latency",
    "proxy/rank_ensemble": "vote",
    "proxy/naswot": "NASWOT",
    "proxy/jacov": "Jacobian covariance",
    "proxy/layers": "layers",
    "proxy/grad_norm": "gradient norm",
    "valid/accuracy": "validation accuracy",
    "valid/cross_entropy": "validation cross-entropy",
    "valid/subset_training": "calibrated cross-entropy after a training on a subset",
    "test/accuracy": "test accuracy",
    "test/cross_entropy": "test cross-entropy",
}


def vote_told(voters: Mapping[str, int]) -> str:
    """Who votes, where the score is a vote."""
    if not voters:
        return ""
    names = listed([metric_name(name) for name in voters])
    return f"The vote is the mean place among {max(voters.values())} random networks (0 worst, 1 best) by {names}."


# --- numbers ----------------------------------------------------------------------------------------------------------


def metric_name(name: str) -> str:
    """A metric's name for people; a column of a table keeps the name that it has there."""
    short_name = name.removeprefix("proxy/").replace("_", " ")
    return NAMES.get(name) or (name.removeprefix("table/") if "table/" in name else short_name)


def in_words(sentence: str) -> str:
    """A recorded sentence with the metrics' names for people."""
    for name, told in NAMES.items():
        sentence = capital(sentence.replace(name, told)) if sentence.startswith(name) else sentence.replace(name, told)
    return re.sub(r"(?<![\w-])-(?=\d)", MINUS, sentence)


def short(name: str) -> str:
    """The same without its split, where that goes without saying."""
    return metric_name(name).removeprefix("validation ")


def show(name: str, value: float | None) -> str:
    """A metric's value with its unit."""
    if value is None or not isfinite(value):
        return UNKNOWN
    if name.startswith("latency/"):
        return f"{value:.3g}{SPACE}ms"
    if name.startswith("cost/"):
        return show_quantity(value)
    if name.endswith("accuracy"):
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
    return WORDS[n] if n < len(WORDS) else f"{n:,}"


def listed(items: Sequence[str]) -> str:
    """a, b and c."""
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + f" and {items[-1]}" if items else ""


def capital(text: str) -> str:
    """With a capital letter to begin a sentence."""
    return text[:1].upper() + text[1:]


# --- how far it is ----------------------------------------------------------------------------------------------------


def missing(run: Record) -> list[str]:
    """The steps that are still to come, the current one first; none when the run is finished."""
    if run.job != "search" or "table" in run.settings:
        step = "train" if run.job == "train" else "search"
        return [] if run.result else [step]
    done = {
        "check": bool(run.settings.get("data")),
        "plan": "plan" in run.settings,
        "train": (run.path / "supernet.safetensors").exists() or bool(run.trials),
        "search": (run.path / "search.json").exists(),
        "compare": (run.path / "networks.json").exists(),
        "test": bool(run.trust),
        "export": bool(run.chosen) and all("model.json" in m.files or m.failed for m in run.chosen),
    }
    return [step for step in STEPS if not done[step]]


def status(run: Record) -> str:
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
    return f"next is {STEPS[left[0]]}"


def total_steps(settings: Mapping[str, Any]) -> int | None:
    """Steps of the supernet's training, where the settings say so."""
    found = settings.get("steps") or settings.get("plan", {}).get("supernet_steps")
    return int(found) if found else None


# --- the headline -----------------------------------------------------------------------------------------------------


def title(run: Record) -> str:
    """What was done on what."""
    space = run.settings.get("space", "")
    name = (space.get("name", "") if isinstance(space, Mapping) else str(space)) or run.search.get("space", "")
    data = run.settings.get("data", {})
    where = data.get("name", "") if isinstance(data, Mapping) else ""
    what = {"train": "Supernet of ", "search": "Search of "}.get(run.job, "Run ")
    return f"{what}{name or run.path.name}" + (f" on {where}" if where else "")


def budgets(run: Record) -> str:
    """The limits, as they were asked for."""
    asked = run.settings.get("asked", {}).get("where") or run.search.get("where") or run.settings.get("where") or ()
    texts = [w for w in ([asked] if isinstance(asked, str) else asked) if isinstance(w, str)]
    return listed([_limit(w) for w in texts])


def _limit(text: str) -> str:
    """A constraint with its metric's name for people."""
    name = re.match(r"\s*([\w./-]+)", text)
    if not name:
        return text
    full = next((k for k in NAMES if name[1] in (k, k.rpartition("/")[2], k.partition("/")[0])), name[1])
    rest = text[name.end() :].strip()
    for sign, shown in (("<=", "≤"), (">=", "≥"), ("<", "<"), (">", ">")):
        if rest.startswith(sign):
            rest = f"{shown}{SPACE}{rest.removeprefix(sign).strip()}"
            break
    return f"{metric_name(full)}{SPACE}{rest}"


def headline(run: Record) -> list[str]:
    """Sentences: the models, how far the ranking can be trusted, the controls."""
    trust = run.trust
    said = (_models(run), _trust(trust.get("tau")), _controls(trust.get("comparisons")), _table(trust.get("table")))
    return [s for s in said if s]


def _models(run: Record) -> str:
    if not run.chosen:
        return _progress(run)
    within = f" within {limits}" if (limits := budgets(run)) else ""
    head = f"{capital(number(len(run.chosen)))} {'model' if len(run.chosen) == 1 else 'models'}{within}"
    tested = [m for m in run.chosen if m.accuracy is not None]
    if tested:
        each = listed([f"{m.name} reaches {percent(m.accuracy)}{_at(m)}" for m in tested])
        return f"{head}: on test images {each}."
    name = run.score.name
    each = listed([f"{m.name} has {show(name, m.score[name])}{_at(m)}" for m in run.chosen if name in m.score])
    return (
        f"{head}, by {metric_name(name)}{'' if 'table' in run.settings else ' in the supernet'}: {each}."
        if each
        else ""
    )


def _at(model: Model) -> str:
    return "" if model.macs is None else f" at {show_quantity(model.macs)}{SPACE}MACs"


def _progress(run: Record) -> str:
    if run.job == "train" and run.curves:
        c = run.curves[0]
        return f"After {c.steps[-1]:,} steps the training loss is {c.losses[-1]:.4g}."
    scores = [t.metrics[run.score.name] for t in run.trials if run.score.name in t.metrics]
    if not scores:
        return ""
    best = max(scores) if run.score.maximise else min(scores)
    scored = capital(count(sum(run.statuses.values()), "architecture"))
    return f"{scored} scored; the best {metric_name(run.score.name)} so far is {show(run.score.name, best)}."


def _trust(tau: Mapping[str, Any] | None) -> str:
    if not tau or tau.get("value") is None:
        return ""
    said = "that the supernet ranks networks is not shown, n is too small"
    if tau.get("shown"):
        said = "better scores go with better networks"
    elif tau.get("high") is not None and tau["high"] < 0:
        said = "better scores go with worse networks, the ranking must not be trusted"
    return f"{tau_told(tau)} between the supernet's score and accuracy after training: {said}."


def tau_told(tau: Mapping[str, Any]) -> str:
    """Kendall's tau with its interval and n."""
    known = tau.get("low") is not None and tau.get("high") is not None
    bounds = f"95{SPACE}% interval {interval(tau['low'], tau['high'])}, " if known else ""
    return f"Kendall's tau is {signed(format(tau['value'], '.2f'))} ({bounds}n{SPACE}={SPACE}{tau['n']})"


def verdict(low: float, high: float) -> str:
    """What a 95 % interval of a difference says: won, lost, or open where it holds 0."""
    return "won" if low > 0 else "lost" if high < 0 else "open"


def _controls(comparisons: Sequence[Mapping[str, Any]] | None) -> str:
    known = [c for c in comparisons or () if c.get("low") is not None and c.get("high") is not None]
    if not known:
        return ""
    found = Counter(verdict(c["low"], c["high"]) for c in known)
    better, worse, open_ = found["won"], found["lost"], found["open"]
    many = f"{number(len(known))} {'comparison' if len(known) == 1 else 'comparisons'}"
    text = f"Of {many} with controls on test images, the chosen models are shown better in "
    text += number(better) if better else "none"
    text += f" and worse in {number(worse)}" if worse else ""
    return text + (f"; {number(open_)} {'is' if open_ == 1 else 'are'} not decided." if open_ else ".")


def _table(table: Mapping[str, Any] | None) -> str:
    if not table:
        return ""
    model = f"{table['model']} is" if table.get("model") else "the best of them is"
    values = [f"{table['value']:.2f}"] if table.get("value") is not None else []
    values += [f"the best has {table['best']:.2f}"] if table.get("best") is not None else []
    told = f" ({', '.join(values)})" if values else ""
    text = f"In the benchmark's table, by {table['column']}, {model} number {table['rank']:,} of {table['of']:,}{told}"
    small = table.get("no_larger")
    return text + (f", and {small['rank']:,} of the {small['of']:,} with no more MACs." if small else ".")
