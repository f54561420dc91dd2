"""Scaling: what hierarchical sampling does, how strategies extrapolate, what a searched family is worth.

    python experiments/scaling.py sampling      Fig. 1: how many drawn networks lie near each budget
    python experiments/scaling.py lists         appendix E: our lists beside Table 2
    python experiments/scaling.py curves        which curves give stages 4 and 5 of Table 3
    python experiments/scaling.py chains        many short rounds of the search against few long ones, on a landscape
    python experiments/scaling.py order         appendix B: do scores rise with MACs? (6 trainings, resumable)
    python experiments/scaling.py family RUN    a run of `supernetic scale` against compound scaling

Each writes its `scaling_*.toml`. Runs go to `runs/scaling/`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from time import process_time
from typing import Any, ClassVar

import numpy as np
import torch
from record import Record

import supernetic
from supernetic.costs import costs_of
from supernetic.evaluators.supernet import SupernetEvaluator
from supernetic.jobs.train.supernet_run import load_supernet
from supernetic.objective import Metrics, Objective
from supernetic.ranking.correlation import count_pairs, pearson, spearman
from supernetic.runs.directory import TIMINGS, read_records, read_settings
from supernetic.samplers.hierarchical import Hierarchical
from supernetic.scaling.budgets import Budgets, budgets_for
from supernetic.scaling.family import Family
from supernetic.scaling.generalise import FAMILIES, table_3_error
from supernetic.scaling.histogram import sampling
from supernetic.scaling.lists import lists_for
from supernetic.searchers import SearchProblem, run_search
from supernetic.searchers.mcea import MCEA, chain_of
from supernetic.space import Arch
from supernetic.spaces.macro import Macro
from supernetic.spaces.scaled import SCALING_GENES, Scaled
from supernetic.spaces.scalenet import FACTORS, PIXELS, ScaleNet, ScaleNetBase
from supernetic.spaces.scarlet import ScarletS1
from supernets import few_images

RUNS = Path("runs/scaling")
PATHS = {"size": 750_000, "uniform": 750_000, "plain": 20_000}  # without stages there is no table of costs
SAMPLERS: dict[str, Any] = {
    "hierarchical, stages evenly": {"name": "hierarchical", "prior": "uniform"},
    "uniform": "uniform",
}
SEEDS, STEPS, ORDER_PATHS, IMAGES = (0, 1, 2), 600, 150, 250
CHAINS = {"N=8, T=20": (8, 20), "N=40, T=8": (40, 8)}  # generations and rounds
SPREAD = "mean and standard deviation over seeds"


def begun() -> float:
    """CPU-minutes so far."""
    return process_time() / 60


def of_sampling() -> None:
    """Fig. 1, at full and at half channels."""
    start, obtained = begun(), {}
    for width in (1.0, 0.5):
        space = ScaleNet(width=width)
        budgets = budgets_for(space.base)
        for way, n in PATHS.items():
            masses = sampling(space, way, n).masses(budgets.targets)  # type: ignore[arg-type]
            obtained[f"{way}, width {width:g}"] = [round(m, 4) for m in masses]
    even, plain = obtained["uniform, width 1"], obtained["plain, width 1"]
    Record(
        "scaling_sampling",
        "drawn hierarchically, networks lie near every stage's budget; drawn uniformly, not near the first and last",
        "ScaleNet, Fig. 1",
        "a mode at each budget, against one bell",
        obtained,
        n=PATHS["uniform"],
        held=min(even) > 3 * min(plain),
        sentence=f"Shares within a quarter of the budgets of stages 0 to 3: {even} with stages drawn evenly, {plain} "
        "with all factors drawn together.",
        seeds=[0],
        scale="ScaleNet's own space at 224 pixels; budgets by Monte Carlo; "
        + ", ".join(f"{k} {n:,}" for k, n in PATHS.items()),
        cpu_minutes=round(begun() - start, 2),
    ).write()


def of_lists() -> None:
    """Our construction for the paper's own base space."""
    start = begun()
    made = lists_for(ScaleNetBase(), budgets_for(ScaleNetBase()))
    ends: dict[str, Any] = {
        str(j): {
            "ours": [f[0], f[-1], p[0], p[-1]],
            "table_2": [FACTORS[j][0], FACTORS[j][-1], PIXELS[j][0], PIXELS[j][-1]],
            "cost": round(made.growth[j], 2),
        }
        for j, (f, p) in enumerate(zip(made.strategies.factors, made.strategies.pixels, strict=True))
        if j
    }
    steps = max(abs(e["ours"][i] - e["table_2"][i]) / 0.04 for e in ends.values() for i in (0, 1))
    pixels = max(abs(e["ours"][i] - e["table_2"][i]) for e in ends.values() for i in (2, 3))
    Record(
        "scaling_lists",
        "centres by Monte Carlo and steps of .04 and .07 give Table 2",
        "ScaleNet, appendix E and Table 2",
        "Table 2",
        ends,
        n=3,
        held=steps < 0.5 and pixels < 1,
        sentence=f"Ends of the lists of factors are off by {steps:.0f} steps at most, sides by {pixels} pixels.",
        seeds=[0],
        cpu_minutes=round(begun() - start, 2),
    ).write()


def of_curves() -> None:
    """Curves through stages 1 to 3 of Table 3 against its stages 4 and 5."""
    errors = dict(sorted(((name, round(table_3_error(name), 4)) for name in FAMILIES), key=lambda x: x[1]))
    best = next(iter(errors))
    Record(
        "scaling_curves",
        "a function fitted to the searched stages gives Table 3's stages 4 and 5",
        "ScaleNet, Table 3 and appendix C",
        "0, to the digits printed (.0005)",
        errors,
        n=6,
        held=errors[best] < 0.0005,
        sentence=f"No family does: the nearest, {FAMILIES[best].formula}, is off by {100 * errors[best]:.1f} % (root "
        f"mean square of six factors), the linear one by {100 * errors['linear']:.1f} %, the squared one by "
        f"{100 * errors['squared']:.1f} %. The base model's blocks are not printed, so that MACs cannot decide.",
    ).write()


class Landscape:
    """Minus the distance to one family that fits the budgets."""

    metrics = ("toy/score",)
    test: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, space: Scaled, budgets: Budgets, seed: int) -> None:
        family = Family(space, budgets)
        (self.base,) = family.draw(np.random.default_rng([99, seed]), 1)
        self.space = space
        self.strategies = [family.candidates(j, [self.base])[-1].genes for j in range(1, budgets.stages + 1)]

    def __call__(self, archs: Sequence[Arch]) -> list[Metrics]:
        """Their scores."""
        return [{"toy/score": -self.off(self.space.canonical(a))} for a in archs]

    def off(self, arch: Arch) -> float:
        """Genes of the base that differ, and steps between strategies."""
        wrong = sum(a != b for a, b in zip(arch[SCALING_GENES:], self.base, strict=True))
        best = self.space.canonical(self.strategies[arch[0] - 1] + self.base)
        return float(wrong + sum(abs(a - b) for a, b in zip(arch[1:SCALING_GENES], best[1:SCALING_GENES], strict=True)))


def of_chains() -> None:
    """The released code's rounds and the paper's, at equal work, where the optimum is known."""
    start, base = begun(), ScarletS1(resolution=64, width=0.5)
    budgets = budgets_for(base, 2)
    space = base * lists_for(base, budgets, bases=5).strategies
    obtained: dict[str, Any] = {}
    for name, (generations, rounds) in CHAINS.items():
        scores, evaluations = [], []
        for seed in SEEDS:
            searcher = MCEA(budgets, bases=5, rounds=rounds, population=50, generations=generations)
            task = SearchProblem(space, (Objective("toy/score", True),))
            trials = run_search(searcher, task, Landscape(space, budgets, seed), seed=seed)
            scores.append(chain_of(searcher, task, trials, seed)[-1].score)
            evaluations.append(len(trials))
        obtained[name] = {"score": _mean(scores), "networks": round(float(np.mean(evaluations)))}
    many, few = (obtained[name]["score"][0] for name in CHAINS)
    Record(
        "scaling_chains",
        "8 generations in each of 20 rounds find as good a family as 40 in each of 8",
        "ScaleNet, appendix A, and its released code",
        "as good",
        obtained,
        n=len(SEEDS),
        held=many >= few,
        sentence=f"Score of the last family (0 is the optimum): {many:.2f} against {few:.2f}, by "
        f"{obtained['N=8, T=20']['networks']:,} and {obtained['N=40, T=8']['networks']:,} networks.",
        spread=SPREAD,
        seeds=list(SEEDS),
        scale="a landscape with one optimum over SCARLET's S1 (19 genes) and two stages, population 50; no supernet",
        cpu_minutes=round(begun() - start, 2),
    ).write()


def of_order() -> None:
    """Super-supernets by two ways of sampling, seen by the same random networks."""
    torch.set_num_threads(1)
    start, base = begun(), Macro(channels=4, resolution=16, head=160)
    space = base * lists_for(base, budgets_for(base)).strategies
    source = "../shared/data/cifar10"
    archs: list[Arch] = [
        tuple(a) for a in Hierarchical("uniform").sample(space, np.random.default_rng(0), ORDER_PATHS).tolist()
    ]
    macs = costs_of(space, np.array(archs, dtype=np.int8)).astype(float)
    found: dict[str, list[list[float]]] = {name: [] for name in SAMPLERS}
    for seed in SEEDS:
        for name, sampler in SAMPLERS.items():
            out = RUNS / f"order-{name.replace(', ', '-').replace(' ', '-')}-{seed}"
            supernetic.train(space, source, sampler=sampler, steps=STEPS, seed=seed, threads=1, out=out)
            supernet, images = load_supernet(out)
            few = few_images(images, IMAGES)
            evaluate = SupernetEvaluator(supernet.eval(), few, ("valid/accuracy",), bn="batch")
            scores = [m["valid/accuracy"] for m in evaluate(archs)]
            pairs = count_pairs(scores, macs)
            found[name].append(
                [pearson(scores, macs), spearman(scores, macs), pairs.tau_scalenet(), float(np.mean(scores))]
            )
            print(name, seed, [round(x, 3) for x in found[name][-1]], flush=True)
    names = ("pearson", "spearman", "tau_scalenet", "mean_accuracy")
    obtained = {k: {n: _mean([row[i] for row in v]) for i, n in enumerate(names)} for k, v in found.items()}
    differences = np.array(found["hierarchical, stages evenly"])[:, 1] - np.array(found["uniform"])[:, 1]
    half = 4.303 * differences.std(ddof=1) / np.sqrt(len(SEEDS))  # Student's t, two degrees of freedom
    low, high = differences.mean() - half, differences.mean() + half
    shown = {k: v["spearman"][0] for k, v in obtained.items()}
    Record(
        "scaling_order",
        "hierarchical sampling preserves the order of networks by MACs better than uniform sampling",
        "ScaleNet, appendix B (its coefficients are for ImageNet and not at hand in figures)",
        "higher Pearson, Spearman and Kendall",
        obtained,
        n=ORDER_PATHS,
        held=bool(low > 0),
        sentence=f"Spearman of one-shot accuracy and MACs: {', '.join(f'{k} {v:.3f}' for k, v in shown.items())}; "
        f"evenly minus uniform {differences.mean():+.3f} [{low:+.3f}, {high:+.3f}].",
        interval=[round(low, 3), round(high, 3)],
        spread=SPREAD + "; the interval is of the difference in Spearman, paired by seed",
        seeds=list(SEEDS),
        scale=f"CIFAR-10, macro's blocks for 16 x 16 with a stem of 4, three stages, {STEPS} steps, "
        f"{ORDER_PATHS} paths (the paper 6,000) on {IMAGES} images",
        cpu_minutes=round(begun() - start, 1),
    ).write()


def _mean(values: Sequence[float]) -> list[float]:
    return [round(float(np.mean(values)), 3), round(float(np.std(values, ddof=1)), 3)]


def of_family(run: Path) -> None:
    """What a run found: its members against compound scaling and against a standard base."""
    networks = {n["name"]: n for n in json.loads((run / "networks.json").read_text())}
    trust, scale = (json.loads((run / f).read_text()) for f in ("trust.json", "scale.json"))
    settings = read_settings(run)
    rows = {
        n["name"]: {"macs": n["macs"], "params": n["params"], "test": n["test"]["test/accuracy"], "label": n["label"]}
        for n in networks.values()
    }
    contests = {
        f"{c['model']} - {c['control']}": {k: round(c[k], 2) for k in ("difference", "low", "high")}
        for c in trust["comparisons"]
    }
    against = {k: c for k, c in contests.items() if "compound" in k}
    differences = [c["difference"] for c in against.values()]
    curves = {c["family"]: c["left_out"] for c in scale["curves"] if c["left_out"] is not None}
    seconds = {r["task"]: r["seconds"] for r in read_records(run / TIMINGS) if "task" in r and "step" not in r}
    Record(
        f"scaling_{run.name.replace('-', '_')}",
        "a searched family is better than compound scaling of its own base at equal MACs",
        "ScaleNet, Table 4",
        {"difference": "above 0 at every stage"},
        {"networks": rows, "contests": contests, "left_out": curves, "order": scale["order"], "seconds": seconds},
        n=len(against),
        held=all(c["low"] > 0 for c in against.values()),
        sentence=f"Members minus compound scaling, points of accuracy: {', '.join(f'{d:+.2f}' for d in differences)}, "
        f"on average {np.mean(differences):+.2f}.",
        spread="95 % of a paired bootstrap over test images; one training each",
        seeds=[settings["seed"]],
        scale=f"{settings['data']['name']}, {settings['space']['text']}; {settings['plan']}",
        cpu_minutes=round(sum(seconds.values()) / 60, 1),
    ).write()


JOBS = {"sampling": of_sampling, "lists": of_lists, "curves": of_curves, "chains": of_chains, "order": of_order}


def main() -> None:
    """Those named, or all that need no run."""
    match sys.argv[1:]:
        case ["family", run]:
            of_family(Path(run))
        case names:
            for name in names or JOBS:
                JOBS[name]()


if __name__ == "__main__":
    main()
