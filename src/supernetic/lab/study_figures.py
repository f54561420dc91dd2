"""The figures of a study: the plots of each kind of measure, from the record of the study alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..reports import svg as plots
from ..reports.series_plots import HEIGHT, WIDTH, Plot, Series, categories, clouds, matrix, scatter, style_of

Record = Mapping[str, Any]
METRIC_LABELS = {
    "tau": "tau",
    "tau_b": "tau-b",
    "spearman": "Spearman",
    "pearson": "Pearson",
    "score": "mean predicted",
    "usage": "share of networks",
    "share": "share of edges",
    "share5": "occurrences by operations",
}


def figure_plots(record: Record, figure: Record) -> list[Plot]:
    """Draw all plots of a figure.

    Args:
        record: The content of `study.json`.
        figure: One of its figures.

    Returns:
        The plots.
    """
    draw: Callable[[Record, Record], Iterator[Plot]] = PLOTS_BY_MEASURE.get(record["measure"]["kind"], _bars)
    return list(draw(record, figure))


# --- kinds ------------------------------------------------------------------------------------------------------------


def _ranking(record: Record, figure: Record) -> Iterator[Plot]:
    """Metrics over the sets of networks, and scatter plots where points were kept."""
    places = _places(record)
    score = record["measure"].get("score", "valid/accuracy").partition("/")[2].replace("_", "-")
    for metric in figure["metrics"] or ("tau", "score"):
        other, _, name = metric.rpartition("/")
        label = f"{METRIC_LABELS['score']} {score}" if metric == "score" else METRIC_LABELS.get(name, name)
        label += f" by {other.replace('_', '-')}" if other else ""
        series = _series(record, figure["variants"], [f"{metric}@{p}" for p in places])
        unit = ", minus" if metric == "score" and "cross" in score else ""
        yield Plot(f"{label}{unit} in the top N", categories(series, places, label, zero=metric != "score"))
    for number, variant in enumerate(figure["variants"]):
        points = [p for m in record["measured"] if m["variant"] == variant for p in m["details"].get("points", ())]
        if points:
            yield Plot(f"{variant}: every point is a network", scatter(points, score, style_of(number)))


def _usage(record: Record, figure: Record) -> Iterator[Plot]:
    """Operations over N, for every variant; an operation has the same colour everywhere."""
    every = _operations(record)
    for variant in figure["variants"]:
        values = _summary(record, variant)
        details = next(m["details"] for m in record["measured"] if m["variant"] == variant)
        for what in figure["metrics"] or ("usage", "share"):
            places = list(dict.fromkeys(k.rpartition("@")[2] for k in values if k.startswith(f"{what}/")))
            labels = ["all" if int(p) >= details.get("networks", float("inf")) else p for p in places]
            shares = {op: [_of(values, f"{what}/{op}@{p}") for p in places] for op in details["operations"]}
            series = [Series(op, style_of(every.index(op)), s, [0.0] * len(places)) for op, s in shares.items()]
            named = f"{variant}: " if len(figure["variants"]) > 1 else ""
            yield Plot(
                f"{named}{METRIC_LABELS[what]} in the top N", categories(series, labels, METRIC_LABELS[what], zero=True)
            )


def _columns(record: Record, figure: Record) -> Iterator[Plot]:
    """Every column against all others, for the first variant."""
    names = record["measure"]["columns"]
    values = record["measured"][0]["details"]["columns"]
    for i, name in enumerate(names):
        groups = [
            (style_of(j), [*zip(values[i], values[j], strict=True)]) for j in range(len(names)) if j != i and values[i]
        ]
        if groups:
            yield Plot(f"{name} of networks, and what other columns say", clouds(groups, name, "others, %"))
    yield from _bars(record, figure)


def _similarity(record: Record, figure: Record) -> Iterator[Plot]:
    """A matrix of options for every variant and layer, averaged over seeds."""
    for variant in figure["variants"]:
        seeds = [m["details"]["slots"] for m in record["measured"] if m["variant"] == variant]
        for slot in zip(*seeds, strict=True):
            matrices = [s["matrix"] for s in slot]
            mean = [
                [sum(m[i][j] for m in matrices) / len(matrices) for j in range(len(r))]
                for i, r in enumerate(matrices[0])
            ]
            yield Plot(f"{variant}, layer {slot[0]['slot'] + 1}: cosine similarity", matrix(mean, slot[0]["labels"]))
    yield from _bars(record, figure)


def _histogram(record: Record, figure: Record) -> Iterator[Plot]:
    """Scores of the first seed, and loss curves."""
    first = record["seeds"][0]
    chosen = {m["variant"]: m["details"] for m in record["measured"] if m["seed"] == first}
    variants = [v for v in figure["variants"] if v in chosen]
    label = record["measure"].get("score", "valid/accuracy").partition("/")[2].replace("_", "-")
    series = []
    for v in variants:
        curve = chosen[v]["curve"]
        style = f"series {style_of(figure['variants'].index(v))}"
        series.append(plots.Line(v, [p[0] for p in curve], [p[1] for p in curve], style))
        known = [p for p in curve if len(p) > 2 and p[2] is not None]
        for sign in (-1, 1) if known else ():  # one standard deviation of single steps to either side
            edge = [p[1] + sign * p[2] for p in known]
            series.append(plots.Line("", [p[0] for p in known], edge, f"{style} faint"))
    if series:
        yield Plot(
            f"training loss, seed {first}",
            plots.lines(
                series, "step", "training loss", "training loss of the supernets", width=WIDTH, height=HEIGHT, n=4
            ),
        )
    reach = [end for v in variants for end in (min(chosen[v]["scores"]), max(chosen[v]["scores"]))]
    for v in variants:
        svg = plots.histogram(
            chosen[v]["scores"], label, f"{label} of random networks of {v}",
            reach=reach, height=HEIGHT, width=WIDTH, style=style_of(figure["variants"].index(v)),
        )  # fmt: skip
        yield Plot(f"{v}: {label} of {len(chosen[v]['scores']):,} random networks, seed {first}", svg)


def _bars(record: Record, figure: Record) -> Iterator[Plot]:
    """The metrics of the measure side by side; of the measure `extremes` only those in the unit of the score."""
    usual = ("smallest", "largest") if record["measure"]["kind"] == "extremes" else record["shown"]
    metrics = [m for m in figure["metrics"] or usual if any(m in v for v in record["table"].values())]
    if metrics:
        series = _series(record, figure["variants"], metrics)
        yield Plot("; ".join(metrics), categories(series, metrics, "", zero=True, joined=False))


PLOTS_BY_MEASURE: dict[str, Callable[[Record, Record], Iterator[Plot]]] = {
    "ranking": _ranking,
    "usage": _usage,
    "columns": _columns,
    "similarity": _similarity,
    "histogram": _histogram,
}


def legend(record: Record, figure: Record) -> list[tuple[str, str]]:
    """The (style, name) of each series of a figure."""
    names = figure["variants"]
    if record["measure"]["kind"] == "usage":
        names = _operations(record)
    if record["measure"]["kind"] == "columns":
        names = record["measure"]["columns"]
    return [(style_of(i), name) for i, name in enumerate(names)]


# --- numbers ----------------------------------------------------------------------------------------------------------


def _operations(record: Record) -> list[str]:
    return list(dict.fromkeys(op for m in record["measured"] for op in m["details"]["operations"]))


def _summary(record: Record, variant: str) -> Mapping[str, Any]:
    summary: Mapping[str, Any] = record["table"].get(variant, {})
    return summary


def _of(values: Mapping[str, Any], metric: str, what: str = "mean") -> float:
    number = (values.get(metric) or {}).get(what)
    return float("nan") if number is None else float(number)


def _places(record: Record) -> list[str]:
    """The sets of networks, in the order of their sizes."""
    metrics = (k for values in record["table"].values() for k in values)
    return list(dict.fromkeys(k.removeprefix("tau@") for k in metrics if k.startswith("tau@")))


def _series(record: Record, variants: Sequence[str], metrics: Sequence[str]) -> list[Series]:
    return [
        Series(
            variant,
            style_of(i),
            [_of(_summary(record, variant), m) for m in metrics],
            [_of(_summary(record, variant), m, "sd") for m in metrics],
        )
        for i, variant in enumerate(variants)
    ]
