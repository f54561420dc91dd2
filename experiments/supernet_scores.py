"""Which score of a supernet orders NAS-Bench-Macro, and do several supernets order it better than one?

    python experiments/supernet_scores.py scores       one supernet, several scores: writes supernet_scores_metrics.toml
    python experiments/supernet_scores.py few_shot     trains what is missing (resumable): supernet_scores_few_shot.toml
    python experiments/supernet_scores.py uniform      the same, of uniform paths: supernet_scores_uniform.toml
    python experiments/supernet_scores.py ensemble     both supernets in the ensemble (after `ranker.py proxies macro`)

The first two start from the supernet of `supernets.py train macro none`. Few-shot: three copies of it are trained on,
each on the networks with one option in its first layer; beside them one copy on all networks, for as many steps as the
three have together. Uniform paths: a supernet of the same recipe with three times as many steps, of one path each. Runs
go to `runs/supernets/`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import torch
from ranker import answers, table_of
from record import Record, write_all

from supernetic import catalog
from supernetic.datasets.augment import parse
from supernetic.datasets.batches import Batches
from supernetic.evaluators.angle import ANGLE, AngleEvaluator
from supernetic.evaluators.proxies import ProxyEvaluator
from supernetic.evaluators.supernet import SupernetEvaluator
from supernetic.jobs.search.score import PROXIES, PROXY_IMAGES
from supernetic.objective import Metrics
from supernetic.ranking.combine import combine_ranks
from supernetic.ranking.correlation import Pairs, count_pairs, tau_difference
from supernetic.ranking.ensemble import quality
from supernetic.runs.directory import open_run
from supernetic.samplers.fixed import Fixed
from supernetic.samplers.step import Sampler
from supernetic.samplers.strict_fair import StrictFair
from supernetic.samplers.uniform import Uniform
from supernetic.space import Arch
from supernetic.supernets.supernet import Supernet
from supernetic.training.loop import fit
from supernetic.training.recipe import Recipe
from supernets import IMAGES, PARTS, RANDOM, RUNS, SPACES, TOP, data, few_images, networks, recipe, supernet_of, trained

NAME = "macro"
STEPS = 500  # of each part
PATHS = 3  # of a fair step: as many as a layer has options
SCORE = "valid/cross_entropy"
SLOW_PROXIES = ("zen", "snip")  # which ranker.py leaves out, for their time
ENDS = ("tau", "tau_top10pct")
Taus = dict[str, list[float]]


@cache
def scored_networks() -> tuple[list[Arch], Any]:
    """Random networks, then some of the top 10 %; and their truth."""
    archs, truth = networks(NAME)
    return [tuple(a) for a in archs.tolist()], truth


@cache
def scored_images() -> Any:
    """The data with so many validation images as `supernets.py` scores on, and as many to fit temperatures on."""
    images = few_images(data(), IMAGES)
    calibrate, rest = np.split(images.splits["calibrate"], [IMAGES])
    unseen = np.concatenate([images.splits["test"], rest])
    return replace(images, splits={**images.splits, "calibrate": calibrate, "test": unseen})


def pairs_of(metric: str, answers: list[Metrics]) -> list[Pairs]:
    """How a score orders the random networks, and those in the top 10 %; what has no number is last."""
    truth = scored_networks()[1]
    x = np.array([quality(metric, a) for a in answers])
    x = np.where(np.isnan(x), np.nanmin(x) - 1, x)
    return [count_pairs(x[part], truth[part]) for part in PARTS]


def taus(found: list[Pairs]) -> Taus:
    """[tau, low, high] over the random networks and in the top 10 %."""
    return {name: _rounded(p.tau(), p.interval()) for name, p in zip(ENDS, found, strict=True)}


def differences(mine: list[Pairs], theirs: list[Pairs]) -> Taus:
    """[difference of taus, low, high] of two scores at both ends."""
    ends = zip(ENDS, mine, theirs, strict=True)
    return {name: _rounded(*tau_difference(a, b)) for name, a, b in ends}


def _rounded(value: float, interval: tuple[float, float]) -> list[float]:
    return [round(float(v), 3) for v in (value, *interval)]


def scores() -> Record:
    """Accuracy, cross-entropies and the weight angle of one supernet, and proxies that ranker.py leaves out."""
    archs, _ = scored_networks()
    images = scored_images()
    supernet = trained(NAME, "none", images)[0].eval()
    found: dict[str, list[Pairs]] = {}
    for bn in ("recalibrate", "batch"):
        evaluate = SupernetEvaluator(supernet, images, bn=bn)
        known = evaluate(archs)
        for metric in evaluate.metrics:
            found[f"{metric.removeprefix('valid/')}_{bn}"] = pairs_of(metric, known)
    found["angle"] = pairs_of(ANGLE, AngleEvaluator(supernet_of(NAME, "none"), supernet)(archs))
    proxies = ProxyEvaluator(catalog.space(SPACES[NAME][0]), images, SLOW_PROXIES, images=PROXY_IMAGES)
    scored_by_proxies = proxies(archs)
    found |= {metric.removeprefix("proxy/"): pairs_of(metric, scored_by_proxies) for metric in proxies.metrics}
    calibrated, plain = (found[f"{name}_recalibrate"] for name in ("calibrated_cross_entropy", "cross_entropy"))
    obtained = {name: taus(pairs) for name, pairs in found.items()}
    obtained["calibrated_minus_plain"] = more = differences(calibrated, plain)
    return Record(
        "supernet_scores_metrics",
        "calibrated cross-entropy orders networks better than cross-entropy, and the weight angle is a score as well",
        "papers 000 and 002; Hu et al. (angle)",
        "tau of calibrated cross-entropy above that of cross-entropy, the interval of the difference too",
        obtained,
        n=RANDOM + TOP,
        held=more["tau"][1] > 0,
        sentence=f"Calibrated {calibrated[0].tau():.3f}, plain {plain[0].tau():.3f} ({more['tau'][0]:+.3f} "
        f"{more['tau'][1:]}), angle {found['angle'][0].tau():.3f} over random networks; in the top 10 % "
        f"{calibrated[1].tau():.3f}, {plain[1].tau():.3f} ({more['tau_top10pct'][0]:+.3f} {more['tau_top10pct'][1:]}), "
        f"{found['angle'][1].tau():.3f}.",
        interval=more["tau"][1:],
        spread="[tau, low, high], 95 % by jackknife",
        seeds=[0],
        scale=f"{SPACES[NAME][0]}, supernet of supernets.py ({SPACES[NAME][2]:,} fair steps), {RANDOM} random networks "
        f"and {TOP} of the top 10 % by {SPACES[NAME][1]}, {IMAGES} validation images",
    )


def few_shot() -> Record:
    """Three supernets, each for a third of all networks, against one that was trained as long as the three."""
    archs, _ = scored_networks()
    options = [str(o) for o in catalog.space(SPACES[NAME][0]).choices[0].options]
    parts: list[Metrics] = [{}] * len(archs)
    for gene, option in enumerate(options):
        part = continued(f"part-{option}", Fixed(option=option), STEPS)
        rows = [i for i, a in enumerate(archs) if a[0] == gene]
        for i, answer in zip(rows, _entropies(part, [archs[i] for i in rows]), strict=True):
            parts[i] = answer
    longer = continued("longer", StrictFair(), STEPS * len(options))
    return compared(
        "few_shot",
        "few-shot supernets order networks better than one supernet does",
        "Zhao et al., arXiv 2006.06863; published tables of NAS-Bench-201: .549 against .483",
        {
            "few_shot": pairs_of(SCORE, parts),
            "one_as_long": pairs_of(SCORE, _entropies(longer, archs)),
            "before": pairs_of(SCORE, _entropies(trained(NAME, "none", data())[0], archs)),
        },
        f"from one supernet of {SPACES[NAME][2]:,} fair steps, {STEPS:,} more for each option of the first layer, or "
        f"{STEPS * len(options):,} for all",
    )


def uniform() -> Record:
    """Uniform paths against strictly fair ones, at equal cost, in a longer training than the studies have."""
    archs, _ = scored_networks()
    return compared(
        "uniform",
        "uniform paths order networks better than strictly fair ones, at equal cost",
        "against Single-path ranking correlations, section 5, and SCARLET-NAS, section 5.1, at a small scale",
        {name: pairs_of(SCORE, _entropies(net, archs)) for name, net in _by_sampler().items()},
        f"{PATHS * SPACES[NAME][2]:,} uniform steps of one path, {SPACES[NAME][2]:,} fair ones of {PATHS}",
    )


def ensemble() -> Record:
    """The rank ensemble of `search`, with the cross-entropies of the uniform and of the fair supernet."""
    archs, truth = scored_networks()
    table = table_of(NAME)
    rows = table.find(np.array(archs, dtype=np.int8))
    known = answers(f"{NAME}-votes.json", table)[0]
    free = {name: known[name][rows] for name in PROXIES if name != SCORE}
    found = {}
    for name, supernet in _by_sampler().items():
        ballots = {**free, SCORE: np.array([quality(SCORE, a) for a in _entropies(supernet, archs)])}
        found[name] = [count_pairs(combine_ranks({n: x[p] for n, x in ballots.items()}), truth[p]) for p in PARTS]
    return compared(
        "votes",
        "the rank ensemble is better with a supernet of uniform paths than with one of fair paths",
        "ours: which sampler search should use",
        found,
        "supernets of supernet_scores_uniform.toml, proxies of ranker.py; ranks among the networks of each end",
    )


def compared(name: str, claim: str, source: str, found: dict[str, list[Pairs]], scale: str) -> Record:
    """The first of several orders of the same networks against the second."""
    first, second, *_ = found
    more = differences(found[first], found[second])
    numbers = ", ".join(f"{n} {' and '.join(f'{p.tau():.3f}' for p in pairs)}" for n, pairs in found.items())
    return Record(
        f"supernet_scores_{name}",
        claim,
        source,
        f"tau of {first} above that of {second}, the interval of the difference too",
        {n: taus(pairs) for n, pairs in found.items()} | {f"{first}_minus_{second}": more},
        n=RANDOM + TOP,
        held=more["tau"][1] > 0,
        sentence=f"tau over random networks and in the top 10 %: {numbers}; differences {more['tau'][0]:+.3f} "
        f"{more['tau'][1:]} and {more['tau_top10pct'][0]:+.3f} {more['tau_top10pct'][1:]}.",
        interval=more["tau"][1:],
        spread="[tau, low, high], 95 % by jackknife over networks; one training each",
        seeds=[0],
        scale=f"{SPACES[NAME][0]}; {scale}; cross-entropy on {IMAGES} images, recalibrated BN",
    )


def _by_sampler() -> dict[str, Supernet]:
    """A supernet of uniform paths, and the one of `supernets.py`, whose steps train every option once."""
    steps = PATHS * SPACES[NAME][2]
    return {
        "uniform": _fitted("uniform", supernet_of(NAME, "none"), Uniform(), recipe(steps), 0),
        "fair": trained(NAME, "none", data())[0],
    }


def continued(name: str, sampler: Sampler, steps: int) -> Supernet:
    """A copy of the supernet, trained on."""
    plan = replace(recipe(steps), lr=recipe(steps).lr / 4)  # the weights are trained already
    return _fitted(name, trained(NAME, "none", data())[0], sampler, plan, 1)


def _fitted(name: str, supernet: Supernet, sampler: Sampler, plan: Recipe, order: int) -> Supernet:
    """The supernet after a training, which goes on where it was; `order` is the seed of the batches."""
    settings = {"space": SPACES[NAME][0], "sampler": repr(sampler), "recipe": repr(plan), "seed": 0}
    batches = Batches(data(), "train", plan.batch_size, order, parse(plan.augment))
    with open_run(RUNS / f"{NAME}-{name}", settings) as run:
        for p in fit(supernet, batches, sampler, plan, run, checkpoint_every=500):
            if p.step % 100 == 0:
                print(f"{name} {p.step}/{p.steps} loss {p.loss:.3f}", flush=True)
    return supernet


def _entropies(supernet: Supernet, archs: list[Arch]) -> list[Metrics]:
    return SupernetEvaluator(supernet.eval(), scored_images(), (SCORE,))(archs)


if __name__ == "__main__":
    torch.set_num_threads(1)
    write_all({"scores": scores, "few_shot": few_shot, "uniform": uniform, "ensemble": ensemble})
