"""The voters of `supernetic search`: chosen on NAS-Bench-Macro and TransNAS-Bench-101, confirmed on NAS-Bench-201.

    python experiments/voters.py score SET     proxies of all networks of a set, resumable: macro, transnas,
                                               transnas-noise, nasbench201; MINUTES as a third argument ends it earlier
    python experiments/voters.py size          do proxies order small networks as the benchmark's own? Reads no accuracy
    python experiments/voters.py old           gradient norm on a sample of macro, for the vote before this one
    python experiments/voters.py others        all proxies, the slow ones too, of NAS-Bench-201's own networks (200
                                               cells), beside what their papers and others measured
    python experiments/voters.py choose        by the rule below, on macro and TransNAS; writes voters_choice.toml
    python experiments/voters.py confirm       on NAS-Bench-201; writes voters_nasbench201.toml

Files go to `runs/voters/`. Needs CIFAR-10 and, for the comparison with what others measured, the published scores
`nasbench201_scores.npz` and `tnb101_micro_scores.npz` in the folder of `SUPERNETIC_DATA`.

The rule of choice, written down before any number below it was looked at:

1. The pool is `POOL`: proxies that need no labels and together cost about three training steps of a network. Gradient
   norm, SNIP and ZiCo need labels, which TransNAS's images have not here; VKDNW and Zen cost more than all of the pool.
   These are reported, and do not stand for election.
2. Candidates are all sets of one to six voters of the pool, by mean rank and by AZ-NAS's aggregation.
3. A candidate is admissible if its tau-b over all networks is, on macro (3,969 networks) and on TransNAS micro (2,128
   cells, proxies on CIFAR-10 images), not more than .02 below that of the best single voter of the pool there.
4. Of the admissible ones, those count as equal whose mean tau-b over the two benchmarks is within .01 of the best. Of
   these the one with the fewest voters is taken, and of several such the one with the best mean.
5. NAS-Bench-201 is looked at once, by `confirm`, when the choice is recorded. Its cells have been looked at before, by
   earlier work on this question, which is why it does not choose.
"""

from __future__ import annotations

import json
import os
import sys
import tomllib
from collections.abc import Mapping, Sequence
from itertools import combinations, islice
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from record import HERE, Record

from supernetic import catalog
from supernetic.benchmarks import Table
from supernetic.benchmarks.table import ABSENT
from supernetic.costs.live_layers import without_dead
from supernetic.datasets.dataset import SPLITS, Dataset
from supernetic.evaluators import Evaluator
from supernetic.evaluators.proxies import ProxyEvaluator
from supernetic.ranking.combine import AZ_RANK, LOG_RANK, MEAN_RANK, combine_ranks
from supernetic.ranking.correlation import count_pairs, tau_difference
from supernets import full_data

Floats = npt.NDArray[np.float64]
RUNS = Path("runs/voters")
POOL = (
    "live_macs", "layers", "naswot", "jacov", "synflow", "swap", "meco",
    "expressivity", "progressivity", "trainability",
)  # fmt: skip
MOST_VOTERS, BELOW_SINGLE, EQUAL = 6, 0.02, 0.01  # of the rule
OLD_VOTE = ("naswot", "jacov", "grad_norm", "layers")  # by mean rank: the vote before this one, without its supernet
SLOW = ("grad_norm", "snip", "zico", "zen", "vkdnw")
IMAGES = 32  # as many as the published scores were measured on
ARCHS_PER_RECORD = 100
SETS = {  # table, column of the truth, the network whose proxies are measured, and which
    "macro": ("macro", "mean_acc", "macro:channels=8,resolution=16,head=160", POOL),
    "transnas": ("transnas-micro", "valid_acc", "transnas-micro:channels=8,resolution=64,classes=10", POOL),
    "transnas-noise": ("transnas-micro", "valid_acc", "transnas-micro:channels=8,resolution=64,classes=10", POOL),
    "nasbench201": ("nasbench201", "c10_test_200", "nasbench201:cells=1,resolution=16", POOL),
}
PUBLISHED = {
    "transnas": ("tnb101_micro_scores.npz", "ops"),
    "nasbench201": ("nasbench201_scores.npz", "arch"),
}
SAME_DEFINITION = {"jacov": "jacov", "naswot": "nwot", "synflow": "synflow"}
COMPARED = {
    **SAME_DEFINITION,
    "snip": "snip",
    "grad_norm": "grad_norm",
    "zen": "zen",
}
PAPERS = {  # tau-b over cells of NAS-Bench-201 without dead operations: VKDNW's table 1
    "live_macs": 0.623, "layers": 0.626, "naswot": 0.571, "jacov": 0.616, "synflow": 0.561, "vkdnw": 0.618,
    "zico": 0.607, "snip": 0.431, "grad_norm": 0.328, "zen": 0.102, "az_nas": 0.712,
}  # fmt: skip
AZ_NAS = ("expressivity", "progressivity", "trainability", "live_macs")
SIZE_SAMPLE, OWN_SAMPLE = 50, 200  # cells of NAS-Bench-201
OLD_SAMPLE = 400  # networks of macro


# --- measuring --------------------------------------------------------------------------------------------------------


def table_of(name: str) -> Table:
    """All networks with their truth; encodings of the same macro network count once."""
    table = catalog.table(SETS[name][0])
    return table.unique() if name == "macro" else table


def images_of(name: str) -> Dataset:
    """CIFAR-10, or noise in its place; networks resize them to their own resolution."""
    if not name.endswith("noise"):
        return full_data()
    rng = np.random.default_rng(0)
    pixels = np.clip(np.rint(127.5 + 40 * rng.standard_normal((IMAGES + 3, 64, 64, 3))), 0, 255).astype(np.uint8)
    rows = np.arange(len(pixels))
    splits = dict(zip(SPLITS, np.split(rows, [IMAGES, IMAGES + 1, IMAGES + 2]), strict=True))
    labels = (rows % 10).astype(np.int64)
    return Dataset("noise", pixels, labels, tuple("0123456789"), splits, rows, "standard normal pixels")


def score(name: str, minutes: float) -> None:
    """All proxies of all networks."""
    evaluate = ProxyEvaluator(catalog.space(SETS[name][2]), images_of(name), SETS[name][3], images=IMAGES)
    ask(f"{name}.json", table_of(name), evaluate, minutes=minutes)


def ask(file: str, table: Table, evaluate: Evaluator, some: Sequence[int] | None = None, minutes: float = 1e9) -> None:
    """All answers of an evaluator, or those on some rows, in `RUNS/file`; answers that exist are kept."""
    RUNS.mkdir(parents=True, exist_ok=True)
    path = RUNS / file
    known: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"minutes": 0.0, "answers": {}}
    order = np.random.default_rng(0).permutation(len(table)).tolist() if some is None else some
    waiting = [i for i in order if str(i) not in known["answers"]]
    archs, spent = list(table), 0.0
    for start in range(0, len(waiting), ARCHS_PER_RECORD):
        rows = waiting[start : start + ARCHS_PER_RECORD]
        begin = process_time()
        answers = evaluate([archs[i] for i in rows])
        spent += (process_time() - begin) / 60
        known["minutes"] += (process_time() - begin) / 60
        known["answers"] |= {str(i): list(m.values()) for i, m in zip(rows, answers, strict=True)}
        known["names"] = [name.removeprefix("proxy/") for name in answers[0]]
        temporary = path.with_suffix(".tmp")
        temporary.write_text(json.dumps(known))
        os.replace(temporary, path)
        print(f"{file}: {start + len(rows)} of {len(waiting)}, {known['minutes']:.1f} CPU-minutes", flush=True)
        if spent > minutes:
            break


def answers(file: str, table: Table) -> tuple[dict[str, Floats], float]:
    """By proxy, NaN where a network has no answer; and CPU-minutes."""
    known = json.loads((RUNS / file).read_text())
    rows = np.full((len(table), len(known["names"])), np.nan)
    for i, values in known["answers"].items():
        rows[int(i)] = values
    return dict(zip(known["names"], rows.T, strict=True)), known["minutes"]


def scored(name: str) -> tuple[Table, dict[str, Floats], float]:
    """The networks of a set that were scored, in the order of the table; all, unless scoring was ended earlier."""
    table = table_of(name)
    known, minutes = answers(f"{name}.json", table)
    rows = np.sort([int(i) for i in json.loads((RUNS / f"{name}.json").read_text())["answers"]])
    return table.take(rows), {proxy: x[rows] for proxy, x in known.items()}, minutes


def size() -> None:
    """The same proxies of small networks and of the benchmark's own, over random cells; no accuracy is read."""
    table = table_of("nasbench201")
    rows = np.random.default_rng(2).choice(len(table), SIZE_SAMPLE, replace=False).tolist()
    ask("size-own.json", table, ProxyEvaluator(catalog.space("nasbench201"), full_data(), POOL, images=IMAGES), rows)
    ask(
        "size-small.json",
        table,
        ProxyEvaluator(catalog.space(SETS["nasbench201"][2]), full_data(), POOL, images=IMAGES),
        rows,
    )
    (own, minutes), (small, less) = answers("size-own.json", table), answers("size-small.json", table)
    obtained = {}
    for name in POOL:
        pairs = count_pairs(_finite(small[name][rows]), _finite(own[name][rows]))
        obtained[name] = [round(x, 3) for x in (pairs.tau_b(), *pairs.interval())]
    worst = min(obtained, key=lambda name: obtained[name][0])
    Record(
        "voters_size",
        "proxies order small cells of NAS-Bench-201 as the benchmark's own networks",
        "ours; no accuracy was read",
        "tau-b at least .8 for each",
        obtained,
        n=len(rows),
        held=obtained[worst][0] >= 0.8,
        sentence="tau-b between the orders of one cell per stage at 16 x 16 and of the benchmark's 5 at 32 x 32: "
        + ", ".join(f"{n} {v[0]:.2f}" for n, v in obtained.items())
        + f"; the least is that of {worst}.",
        interval=obtained[worst][1:],
        spread="[tau-b, low, high], 95 % by jackknife",
        seeds=[0],
        scale=f"{len(rows)} random cells, {IMAGES} images of CIFAR-10; {60 * minutes / len(rows):.1f} and "
        f"{60 * less / len(rows):.2f} CPU-seconds per network",
        cpu_minutes=round(minutes + less, 1),
    ).write()


# --- judging ----------------------------------------------------------------------------------------------------------


def _finite(x: Floats) -> Floats:
    """NaN is ranked last."""
    return np.where(np.isnan(x), np.nanmin(x) - 1, x)


def best_tenth(truth: Floats) -> npt.NDArray[np.int64]:
    """Rows of the true top 10 %."""
    return np.argsort(truth, kind="stable")[-(len(truth) // 10) :]


def both_ends(score: Floats, truth: Floats) -> list[float]:
    """tau-b over all networks and over the true top 10 %."""
    rows = best_tenth(truth)
    return [
        round(count_pairs(score, truth).tau_b(), 3),
        round(count_pairs(score[rows], truth[rows]).tau_b(), 3),
    ]


def vote(known: dict[str, Floats], names: Sequence[str], how: str) -> Floats:
    """Several proxies as one score."""
    return combine_ranks([known[name] for name in names], how=how)


def published(name: str, table: Table, names: Mapping[str, str] = SAME_DEFINITION) -> dict[str, Floats]:
    """Scores that others measured of the same networks, under our names; none if the file is not there."""
    file, key = PUBLISHED[name]
    path = Path(os.environ.get("SUPERNETIC_DATA", "../shared/data")) / file
    if not path.exists():
        return {}
    with np.load(path) as arrays:
        archs = arrays[key] if key == "ops" else np.array([table.space.parse(t) for t in arrays[key].tolist()])
        rows = table.find(archs.astype(np.int8))
        there = rows != ABSENT
        found = {}
        for ours, theirs in names.items():
            found[ours] = np.full(len(table), np.nan)
            found[ours][rows[there]] = arrays[theirs][there]
    return found


def choose() -> None:
    """Apply the rule."""
    truths: dict[str, Floats] = {}
    known: dict[str, dict[str, Floats]] = {}
    minutes = 0.0
    for name in ("macro", "transnas", "transnas-noise"):
        if not (RUNS / f"{name}.json").exists():
            continue
        table, known[name], spent = scored(name)
        truths[name] = table[SETS[name][1]].values
        minutes += spent
    judges = ("macro", "transnas")
    single = {n: {p: both_ends(_finite(known[n][p]), truths[n]) for p in known[n]} for n in known}
    floor = {n: max(single[n][p][0] for p in POOL) - BELOW_SINGLE for n in judges}
    worth = {(n, p, w): combine_ranks([known[n][p]], how=w) for n in judges for p in POOL for w in (MEAN_RANK, AZ_RANK)}
    tried: list[tuple[float, tuple[str, ...], str, dict[str, float]]] = []
    for k in range(1, MOST_VOTERS + 1):
        for names in combinations(POOL, k):
            for how in (MEAN_RANK, AZ_RANK) if k > 1 else (MEAN_RANK,):
                votes = {n: np.sum([worth[n, p, how] for p in names], axis=0) for n in judges}
                taus = {n: count_pairs(votes[n], truths[n]).tau_b() for n in judges}
                tried.append((float(np.mean(list(taus.values()))), names, how, taus))
    admissible = [t for t in tried if all(t[3][n] >= floor[n] for n in judges)]
    best = max(t[0] for t in admissible)
    equal = [t for t in admissible if t[0] >= best - EQUAL]
    fewest = min(len(t[1]) for t in equal)
    mean, names, how, _ = max((t for t in equal if len(t[1]) == fewest), key=lambda t: t[0])
    chosen = {n: both_ends(vote(known[n], names, how), truths[n]) for n in known}
    by_way = {
        way: {n: both_ends(vote(known[n], names, way), truths[n]) for n in known}
        for way in (MEAN_RANK, AZ_RANK, LOG_RANK)
    }
    ways = {
        way: round(float(np.mean([t[0] for t in tried if t[2] == way and len(t[1]) > 1])), 3)
        for way in (MEAN_RANK, AZ_RANK)
    }
    top = sorted(admissible, key=lambda t: -t[0])[:10]
    label = f"{how} {'+'.join(names)}"
    Record(
        "voters_choice",
        "a vote that is good on NAS-Bench-Macro and on TransNAS-Bench-101 micro",
        "the rule at the head of voters.py, which was committed before these numbers",
        {"macro": [0.78, 0.26], "stretch_macro": 0.86},
        {
            "chosen": {label: chosen},
            "by_aggregation": by_way,
            "single": single,
            "best_ten": {
                f"{t[2]} {'+'.join(t[1])}": [round(t[0], 3), *(round(t[3][n], 3) for n in judges)] for t in top
            },
            "old_vote": _old_vote(known["macro"], truths["macro"], names, how),
            "mean_over_sets": ways,
            "published_scores_transnas": {
                p: both_ends(_finite(x), table_of("transnas")["valid_acc"].values)
                for p, x in published("transnas", table_of("transnas")).items()
            },
        },
        n=sum(len(truths[n]) for n in judges),
        held=chosen["macro"][0] >= 0.78 and chosen["macro"][1] >= 0.26,
        sentence=f"Of {len(tried)} candidates {len(admissible)} are admissible, the best mean of tau-b is {best:.3f}, "
        f"{len(equal)} are within {EQUAL} of it; chosen is {label}, {mean:.3f}: macro {chosen['macro']}, TransNAS "
        f"{chosen['transnas']}, on noise {chosen.get('transnas-noise', 'not measured')} ([all, top 10 %]).",
        spread="[tau-b over all networks, tau-b over the true top 10 %]; best_ten: [mean, macro, TransNAS]",
        seeds=[0],
        scale=f"random networks: {', '.join(f'{n} {len(t):,}' for n, t in truths.items())}; "
        f"{SETS['macro'][2]}, {SETS['transnas'][2]}; {IMAGES} images of CIFAR-10, in transnas-noise of noise",
        cpu_minutes=round(minutes, 1),
    ).write()


def old() -> None:
    """The one voter of the old vote that is not in the pool, on random networks of macro."""
    table = table_of("macro")
    evaluate = ProxyEvaluator(catalog.space(SETS["macro"][2]), full_data(), ("grad_norm",), images=IMAGES)
    ask("old.json", table, evaluate, np.random.default_rng(1).permutation(len(table))[:OLD_SAMPLE].tolist())


def _old_vote(known: dict[str, Floats], truth: Floats, names: Sequence[str], how: str) -> dict[str, list[float]]:
    """The old vote without its supernet and the chosen one, on the networks whose gradient norm was measured."""
    if not (RUNS / "old.json").exists():
        return {}
    norm = answers("old.json", table_of("macro"))[0]["grad_norm"]
    rows = np.flatnonzero(~np.isnan(norm))
    some = {name: x[rows] for name, x in {**known, "grad_norm": norm}.items()}
    before, now = vote(some, OLD_VOTE, MEAN_RANK), vote(some, names, how)
    difference, interval = tau_difference(count_pairs(now, truth[rows]), count_pairs(before, truth[rows]))
    return {
        "old": both_ends(before, truth[rows]),
        "chosen": both_ends(now, truth[rows]),
        "difference": [round(x, 3) for x in (difference, *interval)],
    }


def chosen_vote() -> tuple[tuple[str, ...], str]:
    """Voters and aggregation that `choose` found, from its record."""
    (label,) = tomllib.loads((HERE / "voters_choice.toml").read_text(encoding="utf-8"))["obtained"]["chosen"]
    how, names = label.split()
    return tuple(names.split("+")), how


def confirm() -> None:
    """The chosen vote on all cells of NAS-Bench-201."""
    names, how = chosen_vote()
    table, known, minutes = scored("nasbench201")
    columns = {"c10": "c10_test_200", "c100": "c100_valtest_200", "in16": "in16_valtest_200"}
    truths = {name: table[column].values for name, column in columns.items()}
    score = vote(known, names, how)
    obtained: dict[str, Any] = {"chosen": {name: both_ends(score, truth) for name, truth in truths.items()}}
    obtained["by_aggregation"] = {
        way: both_ends(vote(known, names, way), truths["c10"]) for way in (MEAN_RANK, AZ_RANK, LOG_RANK)
    }
    obtained["single"] = {p: both_ends(_finite(x), truths["c10"]) for p, x in known.items()}
    obtained["az_nas"] = both_ends(vote(known, AZ_NAS, AZ_RANK), truths["c10"])
    theirs = published("nasbench201", table)
    if theirs:
        rows = np.flatnonzero(~np.isnan(theirs["jacov"]))
        live = truths["c10"][rows]
        obtained["live_cells"] = {"chosen": both_ends(vote({n: known[n][rows] for n in names}, names, how), live)}
        obtained["live_cells"] |= {p: both_ends(_finite(known[p][rows]), live) for p in POOL}
        obtained["live_cells_az_nas"] = both_ends(vote({n: known[n][rows] for n in AZ_NAS}, AZ_NAS, AZ_RANK), live)
        obtained["live_cells_published"] = {p: both_ends(_finite(x[rows]), live) for p, x in theirs.items()}
    pairs = count_pairs(score, truths["c10"])
    got = obtained["chosen"]["c10"]
    Record(
        "voters_nasbench201",
        f"the vote of {', '.join(names)} ({how}), chosen elsewhere, orders NAS-Bench-201",
        "ranking anchors: AZ-NAS .741 over all cells, VKDNW's aggregate .750; the vote before: .625 and -.032",
        {"required": [0.72, 0.12], "stretch": [0.80, 0.30]},
        obtained,
        n=len(table),
        held=got[0] >= 0.72 and got[1] >= 0.12,
        sentence=f"tau-b {got[0]:.3f} over {len(table):,} cells and {got[1]:.3f} in the true top 10 % against "
        f"c10_test_200; CIFAR-100 {obtained['chosen']['c100']}, ImageNet16-120 {obtained['chosen']['in16']}; "
        f"{minutes:.0f} CPU-minutes in all.",
        interval=[round(x, 3) for x in pairs.interval()],
        spread="[tau-b over all, tau-b over the true top 10 %]; the interval is that of tau, 95 % by jackknife",
        seeds=[0],
        scale=f"{len(table):,} of the 15,625 cells, drawn at random; {SETS['nasbench201'][2]}, {IMAGES} "
        "images of CIFAR-10. These cells have been looked at before, by earlier work; they did not choose.",
        cpu_minutes=round(minutes, 1),
    ).write()


def others() -> None:
    """All proxies of the benchmark's own networks, on random cells, beside published ones."""
    table, space = table_of("nasbench201"), catalog.space("nasbench201")
    order = np.random.default_rng(3).permutation(len(table)).tolist()
    blueprints = ((i, space.blueprint(tuple(table.archs[i].tolist()))) for i in order)
    rows = list(islice((i for i, b in blueprints if without_dead(b) == b), OWN_SAMPLE))
    ask("others.json", table, ProxyEvaluator(space, full_data(), (*POOL, *SLOW), images=IMAGES), rows)
    known, minutes = answers("others.json", table)
    truth = table["c10_test_200"].values[rows]
    ours = {name: _finite(values[rows]) for name, values in known.items()}
    ours["az_nas"] = vote(ours, AZ_NAS, AZ_RANK)
    theirs = {name: _finite(x[rows]) for name, x in published("nasbench201", table, COMPARED).items()}
    obtained: dict[str, dict[str, Any]] = {}
    for name, score in ours.items():
        pairs = count_pairs(score, truth)
        untied = pairs.tau_b() / pairs.tau()  # the papers have tau-b, intervals are of tau
        obtained[name] = {"ours": [round(x, 3) for x in (pairs.tau_b(), *(untied * end for end in pairs.interval()))]}
        if name in theirs:
            obtained[name]["published_scores_of_these_cells"] = round(count_pairs(theirs[name], truth).tau_b(), 3)
            obtained[name]["ours_against_published_scores"] = round(count_pairs(score, theirs[name]).tau_b(), 3)
    apart = {n: o["ours"] for n, o in obtained.items() if n in PAPERS and not o["ours"][1] <= PAPERS[n] <= o["ours"][2]}
    Record(
        "voters_others",
        "proxies order NAS-Bench-201's own networks as their papers say",
        "ranking anchors 1b: VKDNW's table 1; scores of single cells: NAS-Bench-Suite-Zero",
        PAPERS,
        obtained,
        n=len(rows),
        held=not apart,
        sentence=", ".join(
            f"{n} {o['ours'][0]:.3f} [{o['ours'][1]:.2f}, {o['ours'][2]:.2f}]"
            + (f" (paper {PAPERS[n]:.3f})" if n in PAPERS else "")
            for n, o in obtained.items()
        )
        + f"; the paper's number is outside of our interval for {', '.join(apart) or 'none'}.",
        spread="[tau-b, low, high], 95 % by jackknife over cells, from tau's by the ratio of the two",
        seeds=[0],
        scale=f"{len(rows)} random cells without dead operations, networks of the benchmark's own size (5 cells per "
        f"stage, 16 channels, 32 x 32), {IMAGES} images of CIFAR-10; {60 * minutes / len(rows):.1f} CPU-seconds each",
        cpu_minutes=round(minutes, 1),
    ).write()


def main() -> None:
    """Run one of the commands."""
    torch.set_num_threads(1)
    match sys.argv[1:]:
        case ["score", name]:
            score(name, 1e9)
        case ["score", name, minutes]:
            score(name, float(minutes))
        case ["size"]:
            size()
        case ["old"]:
            old()
        case ["others"]:
            others()
        case ["choose"]:
            choose()
        case ["confirm"]:
            confirm()
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
