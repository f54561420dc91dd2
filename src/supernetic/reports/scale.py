"""The page of a scaling job: the family and its rivals, drawings, strategy curves, the chain, what it cost."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from math import nan
from pathlib import Path
from typing import Any

from ..blueprint import Blueprint
from ..errors import RunError
from ..objective import show_quantity
from ..runs.directory import read_records, read_settings
from . import svg as plots
from .drawing import draw
from .page import REPORT, fill, flat, write_page
from .scale_costs import accounting
from .series_plots import Plot, Series, categories, style_of

DIMENSIONS = ("depth", "width", "resolution")
ROLES = {
    "chosen": "the family",
    "compound": "the same base, compound scaling",
    "standard": "a standard base, our strategies",
    "generalised": "the last stage by curves through those before",
}
FILES = {
    "networks.json": "the family and what it is compared with",
    "scale.json": "strategies, curves, sampling",
    "chain.jsonl": "states of the search",
    "trials.jsonl": "every network that was scored",
}
WILD = 1.0  # errors beyond which a curve goes anywhere
SHOWN = 3  # families of curves in a plot

Record = Mapping[str, Any]
Table = tuple[list[str], list[list[str]]]


def write_scale(run: str | Path) -> Path:
    """Write `report.html` into the run, from its files alone."""
    path = Path(run)
    try:
        networks, scale, trust = (
            json.loads((path / n).read_text()) for n in ("networks.json", "scale.json", "trust.json")
        )
    except (OSError, ValueError) as error:
        raise RunError(f"{path} is not finished, it has no report yet: {error}") from None
    file = path / REPORT
    write_page(file, fill("scale.html.j2", page(path, networks, scale, trust)))
    return file


def page(path: Path, networks: Sequence[Record], scale: Record, trust: Record) -> dict[str, Any]:
    """All that the template shows."""
    settings, chain = read_settings(path), read_records(path / "chain.jsonl")
    stages = len(scale["strategies"])
    return {
        "title": f"A family of models for {settings['data']['name']}",
        "place": path.resolve().name,
        "lead": _lead(networks, scale),
        "statements": trust["statements"],
        "legend": [(style_of(i), name) for i, name in enumerate(ROLES.values())],
        "fronts": [_front(networks, "macs", "MACs"), _front(networks, "params", "parameters")],
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
        "data_json": "{}",
    }  # fmt: skip


def _lead(networks: Sequence[Record], scale: Record) -> str:
    family = [n for n in networks if n["role"] == "chosen"]
    first, last = family[0], family[-1]
    return (
        f"{len(family)} models from {show_quantity(first['macs'])} to {show_quantity(last['macs'])} MACs, "
        f"{len(scale['strategies'])} of them scaled as searched, {len(family) - len(scale['strategies']) - 1} beyond. "
        f"The base is {scale['base']}; {scale['evaluations']:,} networks were scored for it."
    )


def _accuracy(n: Record) -> float:
    value = (n.get("test") or {}).get("test/accuracy")
    return nan if value is None else float(value)


def _front(networks: Sequence[Record], key: str, label: str) -> Plot:
    """Accuracy over a cost, on a logarithmic axis of the cost; members of one kind are joined."""
    members = [n for n in networks if n["role"] == "chosen"]
    places = [show_quantity(n[key]) for n in members] if key == "macs" else [n["name"] for n in members]
    series = []
    for i, role in enumerate(ROLES):
        mine = {n["against"] or n["name"]: _accuracy(n) for n in networks if n["role"] == role}
        values = [mine.get(m["name"], nan) for m in members]
        series.append(Series(ROLES[role], style_of(i), values, [nan] * len(values)))
    if key == "macs":
        svg = categories(series, places, "test accuracy, %", zero=False)
        return Plot("test accuracy against MACs, equal within each place", svg)
    lines = []
    for i, role in enumerate(ROLES):
        mine_ = sorted((float(n[key]) / 1e6, _accuracy(n)) for n in networks if n["role"] == role)
        lines.append(plots.Line(ROLES[role], [x for x, _ in mine_], [y for _, y in mine_], f"series {style_of(i)}"))
    svg = plots.lines(lines, f"{label}, M", "test accuracy, %", f"test accuracy against {label}", width=420, height=260)
    return Plot(f"test accuracy against {label}", svg)


def _networks(networks: Sequence[Record]) -> Table:
    heads = ["network", "MACs", "parameters", "valid %", "test %", "strategy"]
    rows = [
        [n["name"], show_quantity(n["macs"]), show_quantity(n["params"]), _percent(n["trained"], "valid/accuracy"),
         _percent(n.get("test"), "test/accuracy"), n["label"].partition(" : ")[0]]
        for n in networks
    ]  # fmt: skip
    return heads, rows


def _percent(metrics: Record | None, name: str) -> str:
    value = (metrics or {}).get(name)
    return "-" if value is None else f"{value:.2f}"


def _drawings(path: Path, networks: Sequence[Record]) -> Iterator[tuple[str, str, str]]:
    for n in networks:
        if n["role"] == "chosen" and n["key"]:
            blueprint = Blueprint.from_json(read_settings(path / "networks" / n["key"])["blueprint"])
            yield n["name"], f"{show_quantity(n['macs'])} MACs, {n['label'].partition(' : ')[0]}", draw(blueprint)


def _shown(scale: Record) -> list[Record]:
    """The curves that were used, then those with the least error."""
    used = [c for c in scale["curves"] if c["family"] == scale["curve"]]
    return [*used, *(c for c in scale["curves"] if c["family"] != scale["curve"])][:SHOWN]


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
    heads = ["curve", "error at a stage left out", *(f"stage {j + 1}: depth, width, resolution" for j in beyond)]
    rows = []
    for c in scale["curves"]:
        name = c["formula"] + (" (used)" if c["family"] == scale["curve"] else "")
        rows.append([name, _error(c["left_out"]), *(_triple(c["values"][j]) for j in beyond)])
    return heads, rows


def _error(left_out: float | None) -> str:
    if left_out is None:
        return "-"
    return f"{100 * left_out:.1f} %" if left_out < WILD else f"over {100 * WILD:.0f} %"


def _ties(scale: Record, stages: int) -> Table:
    beyond = range(stages, len(scale["curves"][0]["values"]))
    heads = ["depth taken at", *(f"stage {j + 1}: depth, width, resolution" for j in beyond)]
    rows = [
        [f"the {name} of the tied interval", *(_triple(values[j]) for j in beyond)]
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
    return ["round", "score", "asked for", "depth/width/side by stage", "tied depths", "base"], rows


def _sampling(scale: Record) -> Table:
    names = {"size": "stage first, by size", "uniform": "stage first, evenly", "plain": "all factors together"}
    targets = scale["budgets"]["targets"]
    rows = [[names[way], *(f"{100 * m:.1f} %" for m in masses)] for way, masses in scale["sampling"].items()]
    return ["drawn", *(f"near {show_quantity(t)}" for t in targets)], rows


def _order(order: Record | None) -> dict[str, str] | None:
    if order is None:
        return None
    shown = {k: "undefined" if order[k] is None else f"{order[k]:.2f}" for k in ("pearson", "spearman", "kendall")}
    return {"n": str(order["n"]), **shown}


def _costs(path: Path, networks: Sequence[Record]) -> Table:
    rows = [[r["what"], _time(r["seconds"]), r["how"]] for r in accounting(path, networks)]
    return ["", "time", "how"], rows


def _time(seconds: float) -> str:
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"
