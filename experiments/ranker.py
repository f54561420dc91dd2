"""The ranker that `supernetic search` used first: chosen on NAS-Bench-Macro, confirmed once on NAS-Bench-201.

It did not hold there; `voters.py` chose its successor.

    python experiments/ranker.py proxies macro        zero-cost proxies of all networks (resumable; also nasbench201)
    python experiments/ranker.py score macro          cross-entropies of all networks by a supernet (also nasbench201)
    python experiments/ranker.py choose               combinations on macro, and writes ranker_choice.toml
    python experiments/ranker.py confirm              writes ranker_macro.toml, _nasbench201.toml and _labels.toml
    python experiments/ranker.py size                 after the confirmation: proxies of NAS-Bench-201's own networks

Supernets are those of `supernets.py` (train them there first). Files go to `runs/ranker/`.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from record import Record

from predictors import DRAWS, fitted
from supernetic import catalog
from supernetic.benchmarks import Table
from supernetic.evaluators import Evaluator
from supernetic.evaluators.proxies import ProxyEvaluator
from supernetic.evaluators.supernet import SupernetEvaluator
from supernetic.predictors import Features, GaussianProcess
from supernetic.ranking.combine import LOG_RANK, MEAN_RANK, combine_ranks
from supernetic.ranking.correlation import count_pairs
from supernetic.ranking.ensemble import quality
from supernets import SPACES, data, few_images, full_data, trained

Floats = npt.NDArray[np.float64]
RUNS = Path("runs/ranker")
SCORE = "valid/cross_entropy"
PROXIES = (SCORE, "proxy/naswot", "proxy/jacov", "proxy/grad_norm", "proxy/layers")  # the vote of that time
PROXY_IMAGES = 64
MEASURED_PROXIES = {
    "macro": ("naswot", "jacov", "grad_norm", "layers", "live_macs", "synflow"),
    "nasbench201": PROXIES[1:],  # those that were chosen on macro
}
STABILISER, BN, IMAGES = "none", "batch", 500  # of the supernet in the ensemble: chosen on macro
ARCHS_PER_RECORD = 250
LARGE_SAMPLE = (300, 150)  # random cells and top ones for the proxies of large networks


def table_of(name: str) -> Table:
    """All networks with their truth; encodings of the same macro network count once."""
    table = catalog.table(name)
    return table.unique() if name == "macro" else table


def ask(file: str, table: Table, evaluate: Evaluator, some: Sequence[int] | None = None) -> None:
    """All answers of an evaluator, or those on some rows, in `RUNS/file`; answers that exist are kept."""
    RUNS.mkdir(parents=True, exist_ok=True)
    path = RUNS / file
    known: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"minutes": 0.0, "answers": {}}
    order = np.random.default_rng(0).permutation(len(table)).tolist() if some is None else some
    waiting = [i for i in order if str(i) not in known["answers"]]
    archs = list(table)
    for start in range(0, len(waiting), ARCHS_PER_RECORD):
        rows = waiting[start : start + ARCHS_PER_RECORD]
        begin = process_time()
        answers = evaluate([archs[i] for i in rows])
        known["minutes"] += (process_time() - begin) / 60
        known["answers"] |= {str(i): list(m.values()) for i, m in zip(rows, answers, strict=True)}
        known["names"] = list(answers[0])
        temporary = path.with_suffix(".tmp")
        temporary.write_text(json.dumps(known))
        os.replace(temporary, path)
        print(f"{file}: {start + len(rows)} of {len(waiting)}, {known['minutes']:.1f} CPU-minutes", flush=True)


def read_answers(file: str) -> dict[str, Any]:
    """A file of `ask`; those of version 0.1.0 say `vote/` where metrics are now called `proxy/`."""
    known: dict[str, Any] = json.loads((RUNS / file).read_text())
    return known | {"names": [re.sub("^vote/", "proxy/", name) for name in known["names"]]}


def answers(file: str, table: Table) -> tuple[dict[str, Floats], float]:
    """By metric, more being better; and CPU-minutes."""
    known = read_answers(file)
    rows = np.array([known["answers"][str(i)] for i in range(len(table))], dtype=np.float64)
    signs = [quality(name, {name: 1.0}) for name in known["names"]]
    return {n: s * rows[:, k] for k, (n, s) in enumerate(zip(known["names"], signs, strict=True))}, known["minutes"]


def both_ends(score: Floats, truth: Floats) -> dict[str, list[float]]:
    """tau, tau-b and the interval of tau over all networks, and over the true top 10 %."""
    best = np.argsort(truth, kind="stable")[-(len(truth) // 10) :]
    found = {}
    for name, rows in (("all", np.arange(len(truth))), ("top10pct", best)):
        pairs = count_pairs(score[rows], truth[rows])
        found[name] = [round(x, 3) for x in (pairs.tau(), pairs.tau_b(), *pairs.interval())]
    return found


def choose() -> None:
    """All proxies and their combinations with the supernet, on macro."""
    table = table_of("macro")
    truth = table[SPACES["macro"][1]].values
    known, minutes = answers("macro-votes.json", table)
    supernet, more = answers("macro-supernet.json", table)
    known |= supernet
    obtained: dict[str, Any] = {"single": {n: both_ends(_finite(x), truth) for n, x in known.items()}}
    free = [n for n in known if n.startswith("proxy/")]
    tried: dict[str, dict[str, list[float]]] = {}
    for k in range(1, 5):
        for some in combinations(free, k):
            for names in ((*some, SCORE), some):
                for how in (MEAN_RANK, LOG_RANK):
                    label = f"{how} {'+'.join(n.partition('/')[2] for n in names)}"
                    tried[label] = both_ends(combine_ranks([known[n] for n in names], how=how), truth)
    ordered = sorted(tried, key=lambda n: -tried[n]["all"][0])
    ours = "mean-rank " + "+".join(n.partition("/")[2] for n in (*PROXIES[1:], SCORE))
    obtained |= {"best_ten": {n: tried[n] for n in ordered[:10]}, "ours": {ours: tried[ours]}}
    Record(
        "ranker_choice",
        "supernet and zero-cost proxies together order NAS-Bench-Macro better than any of them alone",
        "ours; anchors: design section 4, number of layers .693 (tau-b)",
        {"tau": "required .78, stretch .88"},
        obtained,
        n=len(table),
        held=tried[ours]["all"][0] > max(o["all"][0] for o in obtained["single"].values()),
        sentence=f"Of {len(tried)} combinations {ordered[0]} is the best, {tried[ordered[0]]['all'][0]:.3f}; the one "
        f"that search uses has {tried[ours]['all'][0]:.3f} and is number {ordered.index(ours) + 1}.",
        interval=tried[ours]["all"][2:],
        spread="[tau, tau-b, low, high], 95 % by jackknife, over all networks and over the true top 10 %",
        seeds=[0],
        scale=f"all distinct networks; {SPACES['macro'][0]}, CIFAR-10 at 16 x 16, proxies on {PROXY_IMAGES} images, "
        f"supernet of supernets.py scored on {IMAGES} images, BN by {BN}",
        cpu_minutes=round(minutes + more, 1),
    ).write()


def _finite(x: Floats) -> Floats:
    """NaN is ranked last."""
    return np.where(np.isnan(x), np.nanmin(x) - 1, x)


def confirm() -> None:
    """The chosen ranker over all networks of both benchmarks, and the labels of a few cells with its proxies."""
    for name, needed in (("macro", (0.78, 0.0)), ("nasbench201", (0.70, 0.15))):
        table = table_of(name)
        column = SPACES[name][1]
        truth = table[column].values
        known, minutes = answers(f"{name}-votes.json", table)
        supernet, more = answers(f"{name}-supernet.json", table)
        known |= supernet
        answers_by_metric = {n: known[n] for n in PROXIES}
        by_log_rank = both_ends(combine_ranks(answers_by_metric, how=LOG_RANK), truth)
        obtained = {"vote": both_ends(combine_ranks(answers_by_metric), truth), "log_rank": by_log_rank}
        alone = both_ends(combine_ranks({n: x for n, x in answers_by_metric.items() if n != SCORE}), truth)
        obtained["without_supernet"] = alone
        obtained |= {n.replace("/", "_"): both_ends(_finite(x), truth) for n, x in known.items()}
        got = [obtained["vote"][part][1] for part in ("all", "top10pct")]
        training = float((Path("runs/supernets") / f"{name}-{STABILISER}" / "minutes.txt").read_text())
        Record(
            f"ranker_{name}",
            f"the rank ensemble of {', '.join(PROXIES)} orders {name}",
            "ranking anchors: best published supernet on NAS-Bench-201 about .71, training-free .741 (all cells)",
            {"tau_b_all": needed[0], "tau_b_top10pct": needed[1]},
            obtained,
            n=len(table),
            held=all(g >= x for g, x in zip(got, needed, strict=True)),
            sentence=f"tau-b {got[0]:.3f} over all, {got[1]:.3f} in the true top 10 % against {column}; without the "
            f"supernet {' and '.join(f'{alone[part][1]:.3f}' for part in alone)}.",
            interval=obtained["vote"]["all"][2:],
            spread="[tau, tau-b, low, high], 95 % of tau by jackknife, over all networks and over the true top 10 %",
            seeds=[0],
            scale=f"all {len(table):,}; {SPACES[name][0]}, CIFAR-10 at 16 x 16; {training:g} CPU-minutes of training, "
            f"{minutes + more:.0f} of scoring",
            cpu_minutes=round(minutes + more + training, 1),
        ).write()
    labels()


def labels() -> None:
    """32 labels with the proxies as further features; settings are those of `predictors.py`."""
    obtained: dict[str, Any] = {}
    columns = {"macro": ("acc_s0", "mean_acc"), "nasbench201": ("c10_valid_200", "c10_test_200")}
    for name, (label, column) in columns.items():
        table = table_of(name)
        known = answers(f"{name}-votes.json", table)[0] | answers(f"{name}-supernet.json", table)[0]
        truth = table[column].values
        if name == "macro":
            truth = (table["acc_s1"].values + table["acc_s2"].values) / 2
        extra = {n: _looked_up(table, _finite(known[n])) for n in PROXIES}
        x = Features(table.space, extra=extra)(table.archs)
        for n in (10, 32, 100):
            obtained[f"{name}_{n}"] = fitted(x, table[label].values, truth, n, GaussianProcess())
    got = obtained["nasbench201_32"]["all"]["mean"]
    Record(
        "ranker_labels",
        "with c10_valid_200 of 32 cells and the proxies, a Gaussian process orders NAS-Bench-201 with tau-b .78",
        "ranking anchors section 1c: .715 with 32 labels, .77 with 100",
        {"tau_b_all": 0.78, "stretch": 0.85},
        obtained,
        n=len(table_of("nasbench201")),
        held=got >= 0.78,
        sentence=f"tau-b {got:.3f} with 32 labels, {obtained['nasbench201_10']['all']['mean']:.3f} with 10, "
        f"{obtained['nasbench201_100']['all']['mean']:.3f} with 100, against c10_test_200 over all cells.",
        interval=obtained["nasbench201_32"]["all"]["interval"],
        spread="over 10 draws of the labelled networks",
        seeds=DRAWS,
        scale="all 15,625 cells; the predictor without proxies was scored on them before (predictors_nb201.toml)",
    ).write()


def size() -> None:
    """Do proxies depend on the size of the network? The confirmation measured small ones."""
    table = table_of("nasbench201")
    column = SPACES["nasbench201"][1]
    truth = table[column].values
    rng = np.random.default_rng(1)
    best = np.argsort(truth, kind="stable")[-(len(truth) // 10) :]
    parts = {
        "random": rng.choice(len(table), LARGE_SAMPLE[0], replace=False),
        "top10pct": rng.choice(best, LARGE_SAMPLE[1], replace=False),
    }
    rows = list(dict.fromkeys(np.concatenate(list(parts.values())).tolist()))
    large = catalog.space("nasbench201")
    ask(
        "nasbench201-full-votes.json", table, ProxyEvaluator(large, full_data(), PROXIES[1:], images=PROXY_IMAGES), rows
    )
    full = read_answers("nasbench201-full-votes.json")
    small = answers("nasbench201-votes.json", table)[0] | answers("nasbench201-supernet.json", table)[0]
    theirs = {n: np.full(len(table), np.nan) for n in full["names"]}
    for i in rows:
        for n, x in zip(full["names"], full["answers"][str(i)], strict=True):
            theirs[n][i] = x
    obtained: dict[str, Any] = {}
    for which, known in (("small", small), ("full", {**small, **theirs})):
        for part, some in parts.items():
            answers_by_metric = {n: _finite(known[n][some]) for n in PROXIES}
            scores = {"vote": combine_ranks(answers_by_metric), **answers_by_metric}
            for n, x in scores.items():
                pairs = count_pairs(x, truth[some])
                numbers = [round(v, 3) for v in (pairs.tau_b(), *pairs.interval())]
                obtained.setdefault(n.replace("/", "_"), {})[f"{which}_{part}"] = numbers
    was, now = (obtained["vote"][f"{which}_random"] for which in ("small", "full"))
    norm = obtained["proxy_grad_norm"]
    Record(
        "ranker_size",
        "proxies of small networks rank as those of large ones do",
        "ours, after the confirmation: gradient norm had -.04 there, in the ranking anchors .33 to .44",
        "the same tau-b",
        obtained,
        n=len(rows),
        held=abs(was[0] - now[0]) < 0.02,
        sentence=f"tau-b of the ensemble {was[0]:.3f} by the small networks' proxies, {now[0]:.3f} by the "
        f"benchmark's own (gradient norm {norm['small_random'][0]:+.3f} and {norm['full_random'][0]:+.3f}); "
        f"in the true top 10 % {obtained['vote']['small_top10pct'][0]:+.3f} and "
        f"{obtained['vote']['full_top10pct'][0]:+.3f}. This explains the confirmation and does not replace it.",
        interval=now[1:],
        spread="[tau-b, low, high], 95 % of tau by jackknife",
        seeds=[0],
        scale=f"{LARGE_SAMPLE[0]} random cells and {LARGE_SAMPLE[1]} of the true top 10 %; "
        f"2 cells per stage of 8 channels at 16 x 16 "
        "against 5 of 16 at 32 x 32; the supernet's cross-entropy is the small one's in both",
        cpu_minutes=round(full["minutes"], 1),
    ).write()


def _looked_up(table: Table, values: Floats) -> Any:
    def look(archs: Iterable[Sequence[int]]) -> Floats:
        return values[table.find(np.array(list(archs), dtype=np.int8))]

    return look


def main() -> None:
    """Run one of the commands."""
    torch.set_num_threads(1)
    match sys.argv[1:]:
        case ["proxies", name]:
            space = catalog.space(SPACES[name][0])
            ask(
                f"{name}-votes.json",
                table_of(name),
                ProxyEvaluator(space, data(), MEASURED_PROXIES[name], images=PROXY_IMAGES),
            )
        case ["score", name]:
            images = few_images(data(), IMAGES)
            supernet, _ = trained(name, STABILISER, images)
            ask(f"{name}-supernet.json", table_of(name), SupernetEvaluator(supernet.eval(), images, (SCORE,), bn=BN))
        case ["choose"]:
            choose()
        case ["confirm"]:
            confirm()
        case ["size"]:
            size()
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
