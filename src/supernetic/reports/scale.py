"""The page of a scaling job: the family and its rivals, drawings, strategy curves, the chain, what it cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import nan
from pathlib import Path
from typing import Any

from ..blueprint import Blueprint
from ..errors import RunError
from ..objective import show_quantity
from ..ranking.int8 import int8_sentences
from ..ranking.sentences import trust_sentences
from ..runs.directory import read_records, read_settings
from ..runs.files import CHAIN, NETWORK_TRAININGS, NETWORKS, REPORT, SCALE, TRIALS, TRUST
from ..runs.records import MetricValues, NetworkRecord, read_json, read_networks, read_trust
from ..scaling.accounting import accounting
from . import svg as plots
from .diagnostics import network_pages
from .drawing import draw
from .finishes import finish_sentences
from .rendering import fill, flat, write_page
from .series_plots import Plot, Series, categories, style_of
from .summary_text import typeset

DIMENSIONS = ("depth", "width", "resolution")
ROLES = {
    "chosen": "the family",
    "compound": "the same base, compound scaling",
    "standard": "a standard base, our strategies",
    "generalised": "the last searched stage, predicted from the stages before it",
}
FILES = {
    NETWORKS: "the family and the networks that it is compared with",
    SCALE: "strategies, curves, sampling",
    CHAIN: "states of the search",
    TRIALS: "every network that was scored",
}
MAX_ERROR = 1.0  # relative; the number behind a larger one says nothing
PLOTTED_CURVES = 3  # families of curves in a plot

Record = Mapping[str, Any]
Table = tuple[list[str], list[list[str]]]


def write_scale(run: str | Path) -> Path:
    """Write `report.html` into the run of a scaling job, from its files alone.

    Args:
        run: The run directory. One that is not finished is refused.

    Returns:
        The page.
    """
    path = Path(run)
    missing = [name for name in (NETWORKS, SCALE, TRUST) if not (path / name).exists()]
    if missing:
        raise RunError(f"{path} is not finished, it has no report yet: {missing[0]} is missing")
    file = path / REPORT
    write_page(file, fill("scale.html.j2", page(path, read_networks(path), read_json(path / SCALE), read_trust(path))))
    return file


def page(path: Path, networks: Sequence[NetworkRecord], scale: Record, trust: Record) -> dict[str, Any]:
    """All that the template shows."""
    settings, chain = read_settings(path), read_records(path / CHAIN)
    stages = len(scale["strategies"])
    return {
        "title": f"A family of models for {settings['data']['name']}",
        "place": path.resolve().name,
        "lead": _lead(networks, scale),
        "statements": [
            typeset(s) for s in (*trust_sentences(trust), *finish_sentences(networks, trust), *_int8(networks))
        ],
        "legend": [(style_of(i), name) for i, name in enumerate(ROLES.values())],
        "fronts": [_macs_front(networks), _params_front(networks)],
        "networks": _networks(networks),
        "drawings": list(_drawings(path, networks)),
        "curves": [_curves(scale, i, stages) for i in range(len(DIMENSIONS))],
        "curve_legend": list(_curve_names(scale)),
        "families": _families(scale, stages),
        "ties": _ties(scale, stages),
        "chain": _chain_plot(chain),
        "states": _states(chain),
        "sampling": _sampling(scale),
        "order": _order(scale["order"]),
        "costs": _costs(path, networks),
        "recipe": list(flat(settings["retrain_recipe"])),
        "plan": list(flat(settings["plan"])),
        "files": list(FILES.items()),
        "diagnosed": network_pages(path, settings, networks),
    }  # fmt: skip


def _int8(networks: Sequence[NetworkRecord]) -> list[str]:
    """What the models are in 8-bit integers."""
    return [s for n in networks if n.chosen and n.int8 for s in int8_sentences(n.name, n.int8)]


def _lead(networks: Sequence[NetworkRecord], scale: Record) -> str:
    family = [n for n in networks if n.chosen]
    searched, beyond = len(scale["strategies"]), len(family) - len(scale["strategies"]) - 1
    return (
        f"{len(family)} models from {_cost(family[0].macs)} to {_cost(family[-1].macs)} MACs: the base, "
        f"{searched} scaled by searched strategies, {beyond} extrapolated. "
        f"The base is {scale['base']}; {scale['evaluations']:,} networks were scored to find it."
    )


def _cost(value: int | None) -> str:
    return "-" if value is None else show_quantity(value)


def _accuracy(n: NetworkRecord) -> float:
    value = (n.test or {}).get("test/accuracy")
    return nan if value is None else float(value)


def _macs_front(networks: Sequence[NetworkRecord]) -> Plot:
    """Accuracy over MACs, which are equal within each place."""
    members = [n for n in networks if n.chosen]
    series = []
    for i, role in enumerate(ROLES):
        accuracies = {n.against or n.name: _accuracy(n) for n in networks if n.role == role}
        values = [accuracies.get(m.name, nan) for m in members]
        series.append(Series(ROLES[role], style_of(i), values, [nan] * len(values)))
    svg = categories(series, [_cost(m.macs) for m in members], "test accuracy, %", zero=False)
    return Plot("test accuracy against MACs; networks at one place have as many", svg)


def _params_front(networks: Sequence[NetworkRecord]) -> Plot:
    """Accuracy over parameters; networks of one kind are joined."""
    lines = []
    for i, role in enumerate(ROLES):
        mine = sorted((n.params / 1e6, _accuracy(n)) for n in networks if n.role == role and n.params is not None)
        lines.append(plots.Line(ROLES[role], [x for x, _ in mine], [y for _, y in mine], f"series {style_of(i)}"))
    title = "test accuracy against parameters"
    return Plot(title, plots.lines(lines, "parameters, M", "test accuracy, %", title, width=420, height=260))


def _networks(networks: Sequence[NetworkRecord]) -> Table:
    heads = ["network", "MACs", "parameters", "valid %", "test %", "strategy"]
    rows = [
        [n.name, _cost(n.macs), _cost(n.params), _percent(n.trained, "valid/accuracy"),
         _percent(n.test, "test/accuracy"), _strategy(n)]
        for n in networks
    ]  # fmt: skip
    return heads, rows


def _strategy(n: NetworkRecord) -> str:
    return n.label.partition(" : ")[0]


def _percent(metrics: MetricValues | None, name: str) -> str:
    value = (metrics or {}).get(name)
    return "-" if value is None else f"{value:.2f}"


def _drawings(path: Path, networks: Sequence[NetworkRecord]) -> Iterator[tuple[str, str, str]]:
    for n in networks:
        if n.chosen and n.key:
            blueprint = Blueprint.from_json(read_settings(path / NETWORK_TRAININGS / n.key)["blueprint"])
            yield n.name, f"{_cost(n.macs)} MACs, {_strategy(n)}", draw(blueprint)


def _shown(scale: Record) -> list[Record]:
    """The curves that were used, then those with the least error."""
    used = [c for c in scale["curves"] if c["family"] == scale["curve"]]
    return [*used, *(c for c in scale["curves"] if c["family"] != scale["curve"])][:PLOTTED_CURVES]


def _curve_names(scale: Record) -> Iterator[tuple[str, str]]:
    yield style_of(0), "searched"
    yield from ((style_of(i), c["formula"]) for i, c in enumerate(_shown(scale), 1))


def _curves(scale: Record, dimension: int, stages: int) -> Plot:
    places = [str(j) for j in range(len(scale["curves"][0]["values"]) + 1)]
    searched = [1.0, *(s["factors"][dimension] for s in scale["strategies"])]
    searched += [nan] * (len(places) - len(searched))
    series = [Series("searched", style_of(0), searched, [nan] * len(places))]
    for i, c in enumerate(_shown(scale), 1):
        values = [1.0, *(v[dimension] for v in c["values"])]
        series.append(Series(c["formula"], style_of(i), values, [nan] * len(places)))
    name = DIMENSIONS[dimension]
    return Plot(
        f"{name} by stage; searched up to {stages}", categories(series, places, f"factor of {name}", zero=False)
    )


def _families(scale: Record, stages: int) -> Table:
    beyond = range(stages, len(scale["curves"][0]["values"]))
    heads = ["curve", "error at a held-out stage", *(f"stage {j + 1}: depth, width, resolution" for j in beyond)]
    rows = []
    for c in scale["curves"]:
        name = c["formula"] + (" (used)" if c["family"] == scale["curve"] else "")
        rows.append([name, _error(c["left_out"]), *(_triple(c["values"][j]) for j in beyond)])
    return heads, rows


def _error(left_out: float | None) -> str:
    if left_out is None:
        return "-"
    return f"{100 * left_out:.1f} %" if left_out < MAX_ERROR else f"over {100 * MAX_ERROR:.0f} %"


def _ties(scale: Record, stages: int) -> Table:
    beyond = range(stages, len(scale["curves"][0]["values"]))
    heads = ["depth taken at", *(f"stage {j + 1}: depth, width, resolution" for j in beyond)]
    rows = [
        [f"the {name} of the tied depths", *(_triple(values[j]) for j in beyond)]
        for name, values in scale["ties"].items()
    ]
    return heads, rows


def _triple(values: Sequence[float]) -> str:
    return ", ".join(f"{v:.3f}" for v in values)


def _chain_plot(chain: Sequence[Record]) -> str:
    places = [str(s["round"]) for s in chain]
    scores = [float(s["score"]) for s in chain]
    return categories(
        [Series("family score", style_of(0), scores, [nan] * len(scores))], places, "cross-entropy, nats", zero=False
    )


def _states(chain: Sequence[Record]) -> Table:
    rows = []
    for s in chain:
        depths = ", ".join(f"{c['depths'][0]:g}..{c['depths'][1]:g}" for c in s["strategies"])
        genes = ", ".join("/".join(map(str, c["genes"][1:])) for c in s["strategies"])
        base = "-" if s["base"] is None else "".join(map(str, s["base"]))
        rows.append([str(s["round"]), f"{s['score']:.4f}", f"{s['evaluations']:,}", genes, depths, base])
    return ["round", "score", "evaluations", "depth/width/resolution by stage", "tied depths", "base"], rows


def _sampling(scale: Record) -> Table:
    names = {"size": "stage first, by its size", "uniform": "stage first, uniformly", "plain": "all factors at once"}
    targets = scale["budgets"]["targets"]
    rows = [[names[way], *(f"{100 * m:.1f} %" for m in masses)] for way, masses in scale["sampling"].items()]
    return ["sampling", *(f"near {show_quantity(t)}" for t in targets)], rows


def _order(order: Record | None) -> dict[str, str] | None:
    if order is None:
        return None
    shown = {k: "undefined" if order[k] is None else f"{order[k]:.2f}" for k in ("pearson", "spearman", "kendall")}
    return {"n": str(order["n"]), **shown}


def _costs(path: Path, networks: Sequence[NetworkRecord]) -> Table:
    rows = [[r["what"], _time(r["seconds"]), r["how"]] for r in accounting(path, networks)]
    return ["", "time", "how"], rows


def _time(seconds: float) -> str:
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"
