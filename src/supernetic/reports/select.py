"""The page of a choice of models: the decision, profiles, rankings, description lengths, what more data is worth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import nan
from pathlib import Path
from typing import Any

from ..errors import RunError
from ..metrics import find
from ..objective import show_quantity
from ..ranking.sentences import outcome
from ..reading import read_json
from ..runs import files
from ..runs.directory import naming_damage
from ..selection.decision import BIT
from ..selection.scores import METRICS
from ..selection.summary_text import sentences
from .rendering import fill, flat, write_page
from .select_sizes import size_curves
from .series_plots import Plot, Series, categories, style_of
from .summary_text import listed, signed, typeset

RECORD = files.SELECT
FILES = {
    files.TRAININGS_CSV: "every training",
    files.PROFILES_CSV: "means, spreads and ranks at every size",
    files.AGREEMENT_CSV: "rankings compared with the final one",
    files.DESCRIPTION_LENGTHS_CSV: "description lengths",
    RECORD: "everything, for programs",
}
NAMES = {m: find(m).label for m in METRICS}
UNITS = {m: find(m).unit for m in METRICS}
TARGETS = {
    "own": "each compared with its own final ranking",
    "error": "both compared with the final ranking by error rate",
    "calibrated_cross_entropy": "both compared with the final ranking by calibrated cross-entropy",
}
CLOSER = {"better": "closer", "worse": "farther"}

Record = Mapping[str, Any]
Table = tuple[list[str], list[list[str]]]


def write_select(run: str | Path) -> Path:
    """Write `report.html` into the run of a choice of models, from its record alone.

    Args:
        run: The run directory.

    Returns:
        The page.
    """
    path = Path(run)
    try:
        record = read_json(path / RECORD)
    except (OSError, ValueError) as error:
        raise RunError(f"{path / RECORD} cannot be read: {error}") from None
    file = path / files.REPORT
    with naming_damage(path / RECORD):
        html = fill("select.html.j2", page(record, path.resolve().name))
    write_page(file, html)
    return file


def page(record: Record, place: str) -> dict[str, Any]:
    """All that the template shows."""
    answer, *rest = map(typeset, sentences(record))
    return {
        "title": f"Which model for {record['data']}?",
        "place": place,
        "answer": answer,
        "sentences": rest,
        "lead": _lead(record),
        "notes": record["notes"],
        "legend": [(style_of(i), m) for i, m in enumerate(record["models"])],
        "profiles": [_profile(record, metric) for metric in NAMES],
        "models": _models(record),
        "curves": size_curves(record, {m: f"{n}, {UNITS[m]}" for m, n in NAMES.items()}),
        "images": [(style_of(i), f"{n:,} images") for i, n in enumerate(record["sizes"])],
        "rankings": list(_rankings(record)),
        "agreement": _agreement(record),
        "contests": [_contest(c) for c in record["contests"]],
        "worth": list(_worth(record)),
        "checks": _checks(record),
        "lengths": _lengths(record),
        "recipe": [(k, v) for k, v in flat(record["recipe"]) if k not in ("title", "lr", "batch_size")],
        "rates": [(m, f"{lr:g}") for m, lr in record["rates"].items()],
        "chosen": len(record.get("tried", ())) != 1,
        "batches": list(zip(_places(record), record.get("batches", ()), strict=False)),
        "files": list(FILES.items()),
    }


def _lead(record: Record) -> str:
    sizes = listed([f"{n:,}" for n in record["sizes"]])
    seeds = listed([str(s) for s in record["seeds"]])
    return (
        f"{len(record['models'])} models, trained on {sizes} images with {seeds} seeds. Nine tenths of the images "
        f"train, one tenth calibrates; scores are taken on the {record['scored']:,} images of the {record['on']} split."
    )


def _places(record: Record) -> list[str]:
    return [f"{n:,}" for n in record["sizes"]]


def _profile(record: Record, metric: str) -> Plot:
    label = f"{NAMES[metric]}, {UNITS[metric]}"
    series = [
        Series(m, style_of(i), _floats(p[metric]["mean"]), _floats(p[metric]["sd"]))
        for i, (m, p) in enumerate(record["profiles"].items())
    ]
    return Plot(f"{label}, against images: mean and standard deviation over seeds", _plot(series, record, label))


def _plot(series: Sequence[Series], record: Record, label: str) -> str:
    return categories(series, _places(record), label, zero=False)


def _models(record: Record) -> Table:
    """The largest size: costs and the three metrics, the best first."""
    heads = ["model", "MACs", "parameters", *(f"{n}, {UNITS[m]}" for m, n in NAMES.items())]
    heads = [*heads, "calibrated, bits", "cross-entropy, bits", "learning rate"]
    starts = record.get("starts", {})
    heads += ["weights to begin with"] if starts else []
    rows = []
    last = {m: {metric: p[metric]["mean"][-1] for metric in NAMES} for m, p in record["profiles"].items()}
    for m in sorted(last, key=lambda m: float(last[m]["calibrated_cross_entropy"])):
        macs, params = record["costs"][m]
        calibrated, plain, error = (float(last[m][metric]) for metric in NAMES)
        bits = f"{calibrated / BIT:.3f}", f"{plain / BIT:.3f}"
        scores = f"{calibrated:.3f}", f"{plain:.3f}", f"{error:.1f}", *bits
        start = [f"pretrained: {starts[m]}" if m in starts else "random"] if starts else []
        rows.append([m, show_quantity(macs), show_quantity(params), *scores, f"{record['rates'][m]:g}", *start])
    return heads, rows


def _rankings(record: Record) -> Iterator[tuple[str, Table]]:
    """The order of models at each size."""
    for metric, name in NAMES.items():
        columns = []
        for k in range(len(record["sizes"])):
            scores = {m: float(p[metric]["mean"][k]) for m, p in record["profiles"].items()}
            columns.append(sorted(scores, key=lambda m: scores[m]))
        rows = [[str(i), *row] for i, row in enumerate(zip(*columns, strict=True), 1)]
        yield name, (["rank", *_places(record)], rows)


def _agreement(record: Record) -> tuple[str, Table] | None:
    """Tau and the share of draws with the same best model, by size; each metric against its own final ranking."""
    own = [a for a in record["agreements"] if a["metric"] == a["target"]]
    if not own:
        return None
    places = _places(record)[:-1]
    series, rows = [], []
    for i, (metric, name) in enumerate(NAMES.items()):
        mine = [a for a in own if a["metric"] == metric]
        series.append(Series(name, style_of(i), [a["tau"] for a in mine], [nan] * len(mine)))
        rows.append([name, *(_tau(a) for a in mine)])
    across = [a for a in record["agreements"] if a["metric"] == "calibrated_cross_entropy" and a["target"] == "error"]
    rows.append(["calibrated cross-entropy, against the final error rates", *(_tau(a) for a in across)])
    svg = categories(series, places, "tau with the final ranking", zero=True)
    return svg, (["ranking by", *places], rows)


def _tau(a: Record) -> str:
    best = "same best" if a["top"] else "another best"
    return signed(f"{a['tau']:+.2f} [{a['low']:+.2f}, {a['high']:+.2f}]") + f", {best} ({100 * a['sure']:.0f} %)"


def _contest(c: Record) -> tuple[str, str, str]:
    verdict = outcome(c["low"], c["high"])
    numbers = signed(f"{c['value']:+.3f} [{c['low']:+.3f}, {c['high']:+.3f}]")
    return TARGETS[c["target"]], numbers, CLOSER.get(verdict, verdict)


def _worth(record: Record) -> Iterator[tuple[str, Table]]:
    """What the curves predict for more data, with the shares of draws in which each model is the best then."""
    known = record["decision"]["worth"]
    if not known:
        return
    times = sorted({w["times"] for w in known})
    places = [*_places(record), *(f"{t:g}\N{MULTIPLICATION SIGN}" for t in times)]
    series, rows = [], []
    for i, (m, p) in enumerate(record["profiles"].items()):
        later = [w for w in known if w["model"] == m]
        calibrated = p["calibrated_cross_entropy"]
        reach = [(b - a) / 2 for a, b in zip(calibrated["low"], calibrated["high"], strict=True)]
        ahead = [(w["high"] - w["low"]) / 2 for w in later]
        series.append(Series(m, style_of(i), [*calibrated["mean"], *(w["value"] for w in later)], [*reach, *ahead]))
        gains = [signed(f"{w['gain']:.3f} [{w['gain_low']:.3f}, {w['gain_high']:.3f}]") for w in later]
        rows.append([m, *gains, *(f"{100 * w['best']:.0f} %" for w in later)])
    gain_heads = (f"gain with {t:g} times the data, nats" for t in times)
    heads = ["model", *gain_heads, *(f"best with {t:g} times" for t in times)]
    yield categories(series, places, "calibrated cross-entropy, nats", zero=False), (heads, rows)


def _checks(record: Record) -> Table | None:
    rows = [
        [c["model"], f"{c['value']:.3f} [{c['low']:.3f}, {c['high']:.3f}]", f"{c['true']:.3f}",
         "yes" if c["low"] <= c["true"] <= c["high"] else "no"]
        for c in record["decision"]["checks"]
    ]  # fmt: skip
    return (["model", "predicted, nats", "measured, nats", "within the interval"], rows) if rows else None


def _lengths(record: Record) -> Table:
    rows = [
        [x["model"], f"{x['total'] / x['labels'] / BIT:.3f}", f"{x['total'] / x['labels']:.3f}",
         show_quantity(round(x["total"] / BIT)), f"{x['low'] / BIT:,.0f} to {x['high'] / BIT:,.0f}"]
        for x in record["decision"]["lengths"]
    ]  # fmt: skip
    return ["model", "bits per label", "nats per label", "bits in all", "95 % interval"], rows


def _floats(values: Sequence[float | None]) -> list[float]:
    return [nan if v is None else v for v in values]
