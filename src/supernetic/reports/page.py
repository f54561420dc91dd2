"""The report of a run: one page that needs nothing but itself.

What the page says is gathered here as plain values; how it looks is in `templates`. Every text is escaped, by the
template or by the module that makes SVG, and the page's own policy forbids any request and any script but its own.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from .. import metrics
from ..errors import RunError
from ..ranking.sentences import (
    INTERVAL_REASON,
    NOT_SIGNIFICANT,
    TOO_SHORT,
    decided,
    footing,
    outcome,
    says_little,
    show_epochs,
    trust_sentences,
)
from ..runs import files
from ..runs.directory import write_atomically
from ..runs.view import DEFAULT_SCORE, MODEL_FILES, SUPERNET_CURVE, Curve, Model, RunView, read_run
from ..space import Space
from . import svg as plots
from .augment_preview import preview
from .drawing import Atlas, layer_rows
from .front import front_plot
from .int8 import int8_section
from .paste import bibtex, command, markdown
from .recommendation import epochs_of, recommendation
from .summary_text import (
    STEPS,
    UNKNOWN,
    capital,
    count,
    duration,
    ensemble_text,
    headline,
    interval,
    listed,
    missing,
    percent,
    points,
    short,
    show,
    status,
    title,
    typeset,
)

REPORT = files.REPORT
TEMPLATES = Path(__file__).parent / "templates"
LEGEND = {
    "chosen": "model",
    "front": "on the front",
    "trial": "other trials",
    "random": "random control",
    "largest": "largest that fits",
    "plain": "plain stack",
    "resnet": "ResNet",
    "mobilenet": "MobileNetV2",
    "candidate": "lost the race",
    "baseline": "your baseline",
    "timm": "pretrained",
}
TRUTH = "valid/accuracy"
OUTCOMES = {  # of a comparison: its style, and the words of its tip
    "better": ("won", "significantly better"),
    "worse": ("lost", "significantly worse"),
    NOT_SIGNIFICANT: ("open", f"{NOT_SIGNIFICANT}: {INTERVAL_REASON}"),
    TOO_SHORT: ("open", TOO_SHORT),
}
CURVE_POINTS = 400  # points of a curve that are drawn, at most

Fact = tuple[str, str]


def write_report(run: str | Path, space: Space | None = None) -> Path:
    """Write `report.html` into a run, from its files alone.

    Args:
        run: The run directory.
        space: Its space, where it is known: without it, trials cannot be drawn.

    Returns:
        The page.
    """
    record = read_run(run, space)
    file = record.path / REPORT
    write_page(file, render(record))
    return file


def write_page(file: Path, html: str) -> None:
    """Put a page in place at once; what the file system refuses is a `RunError`."""
    try:
        write_atomically(file, html)
    except OSError as e:
        raise RunError(f"the report {file} cannot be written: {e.strerror or e}") from None


def render(run: RunView) -> str:
    """The page."""
    return fill("report.html.j2", page(run))


def fill(template: str, values: Mapping[str, Any]) -> str:
    """A template with the page's style and script, and a policy that allows no others."""
    style, script = (TEMPLATES / "style.css").read_text("utf-8"), (TEMPLATES / "script.js").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"
    html: str = _templates().get_template(template).render(**values, style=style, script=script, policy=policy)
    return html


@lru_cache(maxsize=1)
def _templates() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    loader = FileSystemLoader(TEMPLATES)
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def page(run: RunView) -> dict[str, Any]:
    """All that the template shows. What is not known yet is empty, and its section is left out."""
    atlas = Atlas()
    drawings = [(m, atlas.draw(m.blueprint)) for m in run.chosen if m.blueprint is not None]
    return {
        **_head(run),
        **_recommendation_section(run),
        **_front_section(run, atlas),  # after the drawings of the chosen, whose pieces come first
        **_model_section(run),
        **int8_section(run),
        **_trust_section(run),
        **_search_section(run),
        **_run_section(run),
        "drawings": [(m, _card(m), atlas.html(codes)) for m, codes in drawings],
        "folds": [(m.name, m.fold, _removals(m.fold)) for m in run.models if m.fold],
        "layers": [(m, layer_rows(m.blueprint)) for m in run.models if m.blueprint is not None],
        "bibtex": bibtex(),
    }


def _head(run: RunView) -> dict[str, Any]:
    """What was done, how far it is, and what was found."""
    left = missing(run)
    return {
        "title": title(run),
        "place": run.path.resolve().name,
        "status": status(run),
        "finished": not left,
        "to_come": listed([STEPS[s] for s in left[1:]]),
        "headline": headline(run),
    }


def _recommendation_section(run: RunView) -> dict[str, Any]:
    """The model to take and why; nothing before the test, and in runs that recommend none."""
    model = run.recommended
    tested = model is not None and model.test is not None
    return {
        "take": model.name if model is not None and tested else "",
        "recommendation": [typeset(s) for s in recommendation(run.networks, run.trust)] if tested else [],
    }


def _front_section(run: RunView, atlas: Atlas) -> dict[str, Any]:
    """The plot of all trials, and what its script needs."""
    front = front_plot(run, atlas)
    return {
        "front": front,
        "legend": _legend(front.styles if front else ()),
        "trials": _trials_text(run, front.left_out if front else 0),
        "ensemble": ensemble_text(run.proxies),
        "data_json": _json({**front.data, "pieces": atlas.pieces} if front else {}),
    }


def _model_section(run: RunView) -> dict[str, Any]:
    """The table of models, also as Markdown."""
    head, rows = model_table(run)
    return {
        "table_head": head,
        "table_rows": [(m, what_it_is(m, run), _links(m), cells) for m, cells in rows],
        "markdown": _markdown(head, rows),
    }


def _trust_section(run: RunView) -> dict[str, Any]:
    """The comparisons with controls, and the score against accuracy after training."""
    return {
        "comparison": _comparison(run),
        "footing": _footing(run),
        "scored_by": "the supernet's score" if run.supernet else "the score",
        "statements": [typeset(s) for s in trust_sentences(run.trust)],
        "trust": _trust(run),
        "roles": _legend(dict.fromkeys(m.role for m in run.models if m.score)),
    }


def _search_section(run: RunView) -> dict[str, Any]:
    """How training and search went."""
    return {
        "curves": list(_curves(run)),
        "generations": list(_generations(run)),
        "histogram": _histogram(run),
        "histogram_text": _histogram_text(run),
    }


def _run_section(run: RunView) -> dict[str, Any]:
    """Data, settings and times: what a repetition needs."""
    return {
        "data": _data(run),
        "classes": _classes(run),
        "augment": run.augment,
        "augment_preview": preview(run.augment) if run.augment else "",
        "plan": list(flat(run.settings.get("plan", {}))),
        "times": _times(run),
        "total": duration(sum(run.seconds.values())),
        "command": command(run),
        "facts_of_run": _facts(run),
        "settings": [(k, v) for k, v in flat(run.settings) if not k.startswith(("data.classes", "plan."))],
    }


def _legend(styles: Iterable[str]) -> list[tuple[str, str, str]]:
    """(style, mark, name) of each kind of point."""
    return [(s, plots.mark(s), LEGEND.get(s, s)) for s in styles]


def _json(value: Any) -> str:
    """JSON that may stand inside a script element."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"), ensure_ascii=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


# --- tables -----------------------------------------------------------------------------------------------------------


def model_table(run: RunView) -> tuple[list[str], list[tuple[Model, list[str]]]]:
    """The heads of the columns, and for each model its cells; columns about which nothing is known are left out."""
    score = run.trust.get("tau", {}).get("score") or run.score.name
    columns = {
        "MACs": [show("cost/macs", m.macs) for m in run.models],
        "parameters": [show("cost/params", m.params) for m in run.models],
        "latency": [show("latency/ms", m.latency) for m in run.models],
        _score_label(run, score): [show(score, m.score.get(score)) for m in run.models],
        **_first_round(run),
        "steps": [UNKNOWN if m.steps is None else f"{m.steps:,}" for m in run.models],
        "epochs": [UNKNOWN if (e := epochs_of(m.steps, run.trust)) is None else show_epochs(e) for m in run.models],
        "validation": [percent(m.trained.get("valid/accuracy")) for m in run.models],
        "test, supernet's weights": [percent(m.inherited.get("test/accuracy")) for m in run.models],
        "test": [percent(m.test.get("test/accuracy")) for m in run.models],
    }
    known = {head: cells for head, cells in columns.items() if any(c != UNKNOWN for c in cells)}
    return list(known), [(m, [cells[i] for cells in known.values()]) for i, m in enumerate(run.models)]


def _score_label(run: RunView, score: str) -> str:
    return f"supernet's {short(score)}" if run.supernet else metrics.label(score)


def _first_round(run: RunView) -> dict[str, list[str]]:
    """What all networks reached in the first round, if some of them went on."""
    if not _some_went_on(run):
        return {}
    return {
        "first round, validation": [percent(m.first.get("valid/accuracy")) for m in run.models],
        "first round, test": [percent(m.first_test.get("test/accuracy")) for m in run.models],
    }


def what_it_is(m: Model, run: RunView) -> str:
    """A few words under a model's name."""
    if m.failed:
        return f"training failed: {m.failed}"
    alike = m.against and run.recommended is None  # a race compares all controls with the recommended model
    roles = {
        "random": f"random, as many MACs as {m.against}" if alike else "random, within the limits",
        "candidate": f"lost the race: {m.label}",
        "largest": "the largest within the limits",
        "mobilenet": "MobileNetV2 within the budget",
    }
    return roles.get(m.role, m.label or m.role)


def _links(model: Model) -> list[Fact]:
    """(address, what it is) of the files that exist."""
    return [(f"{files.MODELS}/{quote(model.name)}/{quote(name)}", MODEL_FILES[name]) for name in model.files]


def _markdown(head: Sequence[str], rows: Sequence[tuple[Model, list[str]]]) -> str:
    return markdown(["model", *head], [[m.name, *cells] for m, cells in rows]) if rows else ""


def _card(model: Model) -> str:
    """A line under a drawing's name."""
    facts = [f"{show('cost/macs', model.macs)} MACs", f"{show('cost/params', model.params)} parameters"]
    facts += [show("latency/ms", model.latency)] if model.latency is not None else []
    facts += [f"{percent(model.accuracy)} on test images"] if model.accuracy is not None else []
    return ", ".join(facts)


def _trials_text(run: RunView, left_out: int) -> str:
    """How many there are of each kind."""
    s = run.statuses
    counts = [f"{s['ok']:,} architectures within the limits"]
    counts += [f"{s['infeasible']:,} outside them"] if s["infeasible"] else []
    counts += [f"{s['failed']:,} that failed"] if s["failed"] else []
    more = f" To keep the plot light, {left_out:,} of those behind the front are not drawn." if left_out else ""
    return capital(listed(counts)) + "." + more


# --- plots ------------------------------------------------------------------------------------------------------------


def _comparison(run: RunView) -> str:
    """Models against controls, with intervals."""
    rows = []
    for c in decided(run.trust):
        style, words = OUTCOMES[TOO_SHORT if says_little(c) else outcome(c["low"], c["high"])]
        bounds = f"{points(c['difference'])} points ({interval(c['low'], c['high'])})"
        tip = f"{c['model']} against {c['control']}\n{bounds}\n{words}"
        rows.append(plots.Difference(c["model"], c["control"], c["difference"], c["low"], c["high"], style, tip))
    if not rows:
        return ""
    title = "differences of test accuracy between models and controls, with 95 % intervals"
    return plots.intervals(rows, "test accuracy, points", title)


def _footing(run: RunView) -> str:
    """How long the networks of the comparisons were trained."""
    comparisons = decided(run.trust)
    trained = footing(comparisons)
    if not trained:
        return "All networks were trained by the same recipe for the same number of steps."
    first = " in the first round" if _some_went_on(run) else ""
    little = f" That is {TOO_SHORT}." if any(map(says_little, comparisons)) else ""
    return f"The networks are compared as they were trained alike{first}: for {trained}.{little}"


def _trust(run: RunView) -> str:
    """The score against accuracy after a training that was alike."""
    tau = run.trust.get("tau") or {}
    score, truth = tau.get("score", DEFAULT_SCORE), TRUTH
    dots = [
        plots.Dot(
            m.score[score],
            m.first[truth],
            f"{m.name}\n{metrics.label(score)} {show(score, m.score[score])}\ntrained {show(truth, m.first[truth])}",
            m.role,
            m.name if m.chosen else "",
        )
        for m in run.models
        if score in m.score and truth in m.first
    ]
    if len(dots) < 2:
        return ""
    descending = metrics.better(score) == "lower"
    frame = plots.Frame(
        plots.axis(
            (d.x for d in dots),
            f"{_score_label(run, score)} (better to the right)",
            descending=descending,
            pad=0.08,
        ),
        plots.axis((d.y for d in dots), f"{metrics.label(truth)} after training, %", pad=0.1),
        height=380,
    )
    return frame.svg(plots.dots(frame, dots), f"score against accuracy after training of {len(dots)} networks")


def _curves(run: RunView) -> Iterator[tuple[str, str]]:
    """(caption, plot): the supernet's loss, and that of the networks together."""
    own = [c for c in run.curves if c.name == SUPERNET_CURVE]
    rest = [c for c in run.curves if c.name != SUPERNET_CURVE]
    if own:
        svg = plots.lines([_line(own[0], "first")], "step", "training loss", "training loss of the supernet")
        so_far = " so far" if "train" in missing(run) else ""
        yield f"The supernet: {own[0].steps[-1]:,} steps{so_far}, loss {own[0].losses[-1]:.4g}.", svg
    if rest:
        series = [_line(c, "first" if (m := run.model(c.name)) and m.chosen else "second") for c in rest]
        svg = plots.lines(series[::-1], "step", "training loss", "training loss of the networks")
        last = " Of those that went on after the first round, it is the last training." if _some_went_on(run) else ""
        yield (
            f"{capital(count(len(rest), 'network'))} by the same recipe: models in colour, all others in grey.{last}",
            svg,
        )


def _some_went_on(run: RunView) -> bool:
    return any(m.went_on for m in run.models)


def _line(curve: Curve, style: str) -> plots.Line:
    every = -(-len(curve.steps) // CURVE_POINTS)
    return plots.Line(curve.name, curve.steps[::every], curve.losses[::every], style)


def _generations(run: RunView) -> Iterator[tuple[str, str]]:
    """(what, plot) of small plots beside one another."""
    generations = run.generations
    if len(generations) < 2:
        return
    what = {
        "best": f"best {metrics.label(run.objectives[0].name)}" if run.objectives else "best",
        "hypervolume": "hypervolume",
        "front": "networks on the front",
        "skips": "share of skipped layers",
    }
    for key, name in what.items():
        known = [g for g in generations if g.get(key) is not None]
        if len(known) > 1:
            series = plots.Line("", [g["evaluations"] for g in known], [float(g[key]) for g in known], "first")
            yield (
                name,
                plots.lines([series], "evaluations", name, f"{name} over evaluations", width=420, height=240, n=4),
            )


def _histogram(run: RunView) -> str:
    """Scores of networks that were drawn at random, and where the chosen ones lie."""
    name = run.score.name
    values = [t.metrics[name] for t in run.sampled if name in t.metrics]
    if len(values) < 5:
        return ""
    marks = [(m.score[name], m.name) for m in run.chosen if name in m.score]
    label, descending = f"{metrics.label(name)} (better to the right)", not run.score.maximise
    return plots.histogram(values, label, f"{label} of {len(values)} random networks", marks, descending=descending)


def _histogram_text(run: RunView) -> str:
    drawn = f"{count(len(run.sampled), 'network')} drawn at random within the limits, with which the search began"
    return f"Scores of {drawn}{'; the chosen ones are marked' if run.chosen else ''}."


# --- facts ------------------------------------------------------------------------------------------------------------


def _removals(fold: Mapping[str, Any]) -> list[Fact]:
    """(stabiliser, what became of it)."""
    return [
        (
            str(r["layer"]),
            str(r["how"]) + (f", condition {r['condition']:.3g}" if r.get("condition") is not None else ""),
        )
        for r in fold.get("removals", ())
    ]


def _data(run: RunView) -> list[Fact]:
    d = run.settings.get("data", {})
    if not isinstance(d, Mapping) or not d:
        return []
    images = run.splits or d.get("images", {})
    facts = [
        ("name", str(d.get("name", ""))),
        ("images", listed([f"{n:,} {name}" for name, n in images.items()])),
        (
            "size",
            f"{d['resolution']} × {d['resolution']}, {count(d.get('channels', 3), 'channel')}"
            if "resolution" in d
            else "",
        ),
        ("classes", str(len(d.get("classes", ())) or "")),
        ("source", str(d.get("source", ""))),
        ("licence", str(d.get("licence", ""))),
        ("fingerprint", str(d.get("fingerprint", ""))),
    ]
    return [(k, v) for k, v in facts if v]


def _classes(run: RunView) -> list[str]:
    d = run.settings.get("data", {})
    return [str(c) for c in d.get("classes", ())] if isinstance(d, Mapping) else []


def _times(run: RunView) -> list[tuple[str, str, str, float]]:
    """(step, time, time that was planned, share of the longest)."""
    longest = max(run.seconds.values(), default=0) or 1
    order = [*STEPS, *run.seconds]
    ordered = sorted(run.seconds.items(), key=lambda item: order.index(item[0]))
    planned = run.settings.get("plan", {}).get("seconds", {})
    plans = {k: f"planned {duration(s)}" for k, s in planned.items() if s}
    return [(name, duration(s), plans.get(name, ""), round(100 * s / longest, 1)) for name, s in ordered]


def _facts(run: RunView) -> list[Fact]:
    """Seeds, versions and what else a repetition needs."""
    s = run.settings
    versions = s.get("versions", {})
    space = s.get("space", {})
    searcher = run.search.searcher or s.get("searcher") or {}
    facts = [
        ("seed", str(s.get("seed", s.get("asked", {}).get("seed", "")))),
        ("space", str(space.get("text", space.get("name", ""))) if isinstance(space, Mapping) else str(space)),
        ("fingerprint of the space", str(space.get("fingerprint", "")) if isinstance(space, Mapping) else ""),
        ("searcher", str(searcher.get("name", ""))),
        ("recipe of the supernet", _titled(s.get("recipe"))),
        ("recipe of the networks", _titled(s.get("retrain_recipe"))),
        ("threads", str(s.get("threads", ""))),
        ("workers", str(s.get("workers", ""))),
        *((f"{name} version", str(v)) for name, v in versions.items()),
    ]
    return [(k, v) for k, v in facts if v]


def _titled(recipe: Any) -> str:
    return str(recipe.get("title", "")) if isinstance(recipe, Mapping) else ""


def flat(table: Any, prefix: str = "") -> Iterator[Fact]:
    """Settings as dotted names and texts."""
    if isinstance(table, Mapping):
        for key, value in table.items():
            yield from flat(value, f"{prefix}.{key}" if prefix else str(key))
    elif isinstance(table, list) and any(isinstance(v, Mapping) for v in table):
        for i, value in enumerate(table, 1):
            yield from flat(value, f"{prefix}.{i}")
    elif prefix:
        text = ", ".join(map(str, table)) if isinstance(table, list) else str(table)
        yield prefix, f"{table:,}" if isinstance(table, int) and not isinstance(table, bool) else text
