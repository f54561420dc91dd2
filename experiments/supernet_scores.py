"""Which score of a supernet orders NAS-Bench-Macro, and do several supernets order it better than one?

    python experiments/supernet_scores.py              trains what is missing (resumable), writes supernet_scores_*.toml

Both start from the supernet of `supernets.py train macro none`. Few-shot: three copies of it are trained on, each on
the networks with one option in its first layer; beside them one copy on all networks, for as many steps as the three
have together. Runs go to `runs/supernets/`.
"""

from __future__ import annotations

from functools import cache
from time import process_time
from typing import Any

import numpy as np
import torch
from record import Record

from supernetic import catalog
from supernetic.datasets.augment import parse
from supernetic.datasets.batches import Batches
from supernetic.evaluators.angle import ANGLE, AngleEvaluator
from supernetic.evaluators.supernet import SupernetEvaluator
from supernetic.evaluators.votes import VoteEvaluator
from supernetic.objective import Metrics
from supernetic.pipeline.images.scoring import PROBES
from supernetic.ranking.ballot import quality
from supernetic.ranking.correlation import count_pairs
from supernetic.run import open_run
from supernetic.samplers.fixed import Fixed
from supernetic.samplers.step import Sampler
from supernetic.samplers.strict_fair import StrictFair
from supernetic.space import Arch
from supernetic.supernets.supernet import Supernet
from supernetic.training.loop import fit
from supernetic.training.recipe import Recipe
from supernets import IMAGES, PARTS, RANDOM, RUNS, SPACES, TOP, data, few_images, networks, supernet_of, trained

NAME = "macro"
STEPS = 1000  # of each part
SCORE = "valid/cross_entropy"
MORE = ("zen", "snip")  # votes that ranker.py leaves out, for their time
Taus = dict[str, list[float]]


def recipe(steps: int) -> Recipe:
    """That of `supernets.py`, at a quarter of its rate: the weights are trained already."""
    return Recipe(
        length=f"{steps} steps", batch_size=64, augment="shift+flip", lr=0.05, weight_decay=3e-4, clip_norm=5.0
    )


@cache
def asked() -> tuple[list[Arch], Any]:
    """Random networks, then some of the top 10 %; and their truth."""
    archs, truth = networks(NAME)
    return [tuple(a) for a in archs.tolist()], truth


@cache
def scored_images() -> Any:
    """The data with so many validation images as `supernets.py` scores on."""
    return few_images(data(), IMAGES)


def taus(metric: str, answers: list[Metrics]) -> Taus:
    """[tau, low, high] over the random networks and in the top 10 %; what has no number is last."""
    truth = asked()[1]
    x = np.array([quality(metric, a) for a in answers])
    x = np.where(np.isnan(x), np.nanmin(x) - 1, x)
    found = {}
    for what, part in zip(("tau", "tau_top10pct"), PARTS, strict=True):
        pairs = count_pairs(x[part], truth[part])
        found[what] = [round(float(v), 3) for v in (pairs.tau(), *pairs.interval())]
    return found


def scores() -> Record:
    """Accuracy, cross-entropies and the weight angle of one supernet, and votes that ranker.py did not ask."""
    archs, _ = asked()
    images = scored_images()
    supernet = trained(NAME, "none", images)[0].eval()
    obtained: dict[str, Taus] = {}
    for bn in ("recalibrate", "batch"):
        evaluate = SupernetEvaluator(supernet, images, bn=bn)
        answers = evaluate(archs)
        for metric in evaluate.metrics:
            obtained[f"{metric.removeprefix('valid/')}_{bn}"] = taus(metric, answers)
    obtained["angle"] = taus(ANGLE, AngleEvaluator(supernet_of(NAME, "none"), supernet)(archs))
    voters = VoteEvaluator(catalog.space(SPACES[NAME][0]), images, MORE, images=PROBES)
    votes = voters(archs)
    obtained |= {metric.removeprefix("vote/"): taus(metric, votes) for metric in voters.metrics}
    best = obtained["calibrated_cross_entropy_recalibrate"]
    plain = obtained["cross_entropy_recalibrate"]
    return Record(
        "supernet_scores_metrics",
        "calibrated cross-entropy orders networks better than cross-entropy, and the weight angle is a score as well",
        "papers 000 and 002; Hu et al. (angle)",
        "tau of calibrated cross-entropy above that of cross-entropy",
        obtained,
        n=RANDOM + TOP,
        held=best["tau"][0] > plain["tau"][0],
        sentence=f"Calibrated {best['tau'][0]:.3f}, plain {plain['tau'][0]:.3f}, angle "
        f"{obtained['angle']['tau'][0]:.3f} over random networks; in the top 10 % {best['tau_top10pct'][0]:.3f}, "
        f"{plain['tau_top10pct'][0]:.3f}, {obtained['angle']['tau_top10pct'][0]:.3f}.",
        interval=best["tau"][1:],
        spread="[tau, low, high], 95 % by jackknife",
        seeds=[0],
        scale=f"{SPACES[NAME][0]}, supernet of supernets.py ({SPACES[NAME][2]:,} fair steps), {RANDOM} random networks "
        f"and {TOP} of the top 10 % by {SPACES[NAME][1]}, {IMAGES} validation images",
    )


def few_shot() -> Record:
    """Three supernets, each for a third of all networks, against one that was trained as long as the three."""
    archs, _ = asked()
    options = [str(o) for o in catalog.space(SPACES[NAME][0]).choices[0].options]
    answers: list[Metrics] = [{}] * len(archs)
    for gene, option in enumerate(options):
        part = continued(f"part-{option}", Fixed(option=option), STEPS)
        rows = [i for i, a in enumerate(archs) if a[0] == gene]
        for i, answer in zip(rows, _entropies(part, [archs[i] for i in rows]), strict=True):
            answers[i] = answer
    longer = continued("longer", StrictFair(), STEPS * len(options))
    obtained = {
        "before": taus(SCORE, _entropies(trained(NAME, "none", data())[0], archs)),
        "few_shot": taus(SCORE, answers),
        "one_as_long": taus(SCORE, _entropies(longer, archs)),
    }
    few, one = obtained["few_shot"], obtained["one_as_long"]
    return Record(
        "supernet_scores_few_shot",
        "few-shot supernets order networks better than one supernet does",
        "Zhao et al., arXiv 2006.06863; published tables of NAS-Bench-201: .549 against .483",
        "tau of three supernets above that of one",
        obtained,
        n=RANDOM + TOP,
        held=few["tau"][0] > one["tau"][0],
        sentence=f"Three supernets {few['tau'][0]:.3f}, one trained as long {one['tau'][0]:.3f}, before "
        f"{obtained['before']['tau'][0]:.3f} over random networks; in the top 10 % {few['tau_top10pct'][0]:.3f}, "
        f"{one['tau_top10pct'][0]:.3f}, {obtained['before']['tau_top10pct'][0]:.3f}.",
        interval=few["tau"][1:],
        spread="[tau, low, high], 95 % by jackknife",
        seeds=[0],
        scale=f"{SPACES[NAME][0]}; from one supernet of {SPACES[NAME][2]:,} fair steps, {STEPS:,} more for each option "
        f"of the first layer, or {STEPS * len(options):,} for all; cross-entropy on {IMAGES} images, recalibrated BN",
    )


def continued(name: str, sampler: Sampler, steps: int) -> Supernet:
    """A copy of the supernet, trained on."""
    supernet, _ = trained(NAME, "none", data())
    plan = recipe(steps)
    settings = {"space": SPACES[NAME][0], "sampler": repr(sampler), "recipe": repr(plan), "seed": 0}
    batches = Batches(data(), "train", plan.batch_size, 1, parse(plan.augment))
    with open_run(RUNS / f"{NAME}-{name}", settings) as run:
        for p in fit(supernet, batches, sampler, plan, run, checkpoint_every=500):
            if p.step % 100 == 0:
                print(f"{name} {p.step}/{p.steps} loss {p.loss:.3f}", flush=True)
    return supernet


def _entropies(supernet: Supernet, archs: list[Arch]) -> list[Metrics]:
    return SupernetEvaluator(supernet.eval(), scored_images(), (SCORE,))(archs)


def main() -> None:
    """Both records."""
    torch.set_num_threads(1)
    for job in (scores, few_shot):
        begin = process_time()
        record = job()
        record.cpu_minutes = round((process_time() - begin) / 60, 1)
        record.write()


if __name__ == "__main__":
    main()
