"""Beyond cells and chains: which score orders networks of an elastic space, and of ScaleNet's product of spaces?

    python experiments/beyond.py train SPACE [N]    truth: trains N networks (all 40 by default), resumable
    python experiments/beyond.py score SPACE        proxies of the networks that were trained
    python experiments/beyond.py supernet SPACE     a supernet, resumable, and these networks' cross-entropies in it
    python experiments/beyond.py alike SPACE        the same with options that start alike, which the rule leaves out
    python experiments/beyond.py record             writes beyond.toml from what there is

SPACE is `attentive` or `scalenet`, at small size on CIFAR-10. A network takes about a CPU-minute, so that all of it
takes about an hour of one thread. Files go to `runs/beyond/`.

What `search` uses where it has a supernet is decided by a rule that was written down before any number: cross-entropy
alone stays, unless the vote with cross-entropy as one more voter, as in spaces of cells, has a higher mean tau-b of
both spaces and is in neither more than .02 below cross-entropy alone.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from record import HERE, Record
from voters import IMAGES, POOL, chosen_vote, vote

from supernetic import catalog
from supernetic.datasets.augment import parse
from supernetic.datasets.batches import Batches
from supernetic.evaluators.proxies import ProxyEvaluator
from supernetic.evaluators.supernet import SupernetEvaluator
from supernetic.nn.network import build
from supernetic.nn.strided import in_layout, layout_of
from supernetic.ranking.correlation import count_pairs, tau_difference
from supernetic.runs.directory import open_run
from supernetic.samplers.sandwich import Sandwich
from supernetic.samplers.uniform import Uniform
from supernetic.space import Arch
from supernetic.supernets.supernet import Supernet
from supernetic.text import csv_text
from supernetic.training.loop import fit
from supernetic.training.recipe import Recipe
from supernets import few_images, full_data

RUNS = Path("runs/beyond")
SPACES = {
    "attentive": "attentive:resolutions=16+20+24,width=0.25,classes=10",
    "scalenet": "scalenet:resolution=24,width=0.25,classes=10",
}
NETWORKS, BATCH, RATE = 40, 64, 0.002  # of Adam: with SGD, fresh networks of ScaleNet's space did not learn in time
STEPS, WARM_SHARE = {"attentive": 500, "scalenet": 400}, 0.05  # of each network
SUPERNET_STEPS = {"attentive": 1200, "scalenet": 2400}  # about ten CPU-minutes each
AUGMENT = "light+flip"
CROSS_ENTROPY = "valid/cross_entropy"
VALID_IMAGES = 5000
ALONE, TOGETHER = "cross_entropy", "vote_with_cross_entropy"
BELOW = 0.02  # of the rule


def networks(name: str) -> list[Arch]:
    """Random ones, each once."""
    space = catalog.space(SPACES[name])
    drawn = space.sample(np.random.default_rng(6), 2 * NETWORKS).tolist()
    return list(dict.fromkeys(space.canonical(tuple(a)) for a in drawn))[:NETWORKS]


def train(name: str, most: int) -> None:
    """Each network for the same number of steps; its accuracy on validation images is the truth."""
    space, images = catalog.space(SPACES[name]), few_images(full_data(), VALID_IMAGES)
    known = _read(f"{name}-truth")
    for arch in networks(name)[:most]:
        text = space.format(arch)
        if text in known:
            continue
        begin, blueprint = process_time(), space.blueprint(arch)
        network = build(blueprint, seed=0, zero_residual=True)
        layout = layout_of(network)
        network = network.to(memory_format=layout)  # type: ignore[call-overload]
        optimiser = torch.optim.AdamW(network.parameters(), RATE)
        steps = STEPS[name]
        schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: _pace(step / steps))  # noqa: B023
        batches = Batches(images, "train", BATCH, 0, parse(AUGMENT), resolution=blueprint.resolution)
        for step in range(steps):
            x, y = batches.batch(step)
            optimiser.zero_grad()
            F.cross_entropy(network(in_layout(x, layout)), y).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            schedule.step()
        known[text] = {"accuracy": _accuracy(network.eval(), images, blueprint.resolution)}
        known[text]["seconds"] = round(process_time() - begin, 1)
        _write(f"{name}-truth", known)
        print(name, len(known), known[text], flush=True)


def _pace(done: float) -> float:
    """The share of the learning rate at a share of the steps: a short rise, then a straight line to 0."""
    return min((done + 0.002) / WARM_SHARE, (1 - done) / (1 - WARM_SHARE))


@torch.no_grad()
def _accuracy(network: torch.nn.Module, images: Any, resolution: int) -> float:
    batches = Batches(images, "valid", 500, 0, resolution=resolution)
    right = 0
    for k in range(VALID_IMAGES // 500):
        x, y = batches.batch(k)
        right += int((network(x).argmax(1) == y).sum())
    return round(100 * right / VALID_IMAGES, 2)


def score(name: str) -> None:
    """Proxies of the networks that have a truth."""
    space = catalog.space(SPACES[name])
    known = _read(f"{name}-proxies")
    evaluate = ProxyEvaluator(space, full_data(), POOL, images=IMAGES)
    for text in _read(f"{name}-truth"):
        if text not in known:
            known[text] = {k.removeprefix("proxy/"): v for k, v in evaluate([space.parse(text)])[0].items()}
            _write(f"{name}-proxies", known)


def supernet(name: str, weights: str = "he") -> None:
    """Cross-entropies of the networks that have a truth, in one supernet."""
    label = name if weights == "he" else f"{name}-{weights}"
    space, images = catalog.space(SPACES[name]), few_images(full_data(), VALID_IMAGES)
    shared = Supernet(space, seed=0, zero_residual=True, weights=weights)
    recipe = Recipe(
        length=f"{SUPERNET_STEPS[name]} steps", warmup="50 steps", batch_size=BATCH, augment=AUGMENT,
        optimiser="adam", smoothing=0.999, lr=RATE, schedule="linear",
    )  # fmt: skip
    sampler = Sandwich() if space.sharing == "elastic" else Uniform()
    with open_run(RUNS / f"{label}-supernet", {"space": SPACES[name], "recipe": repr(recipe), "seed": 0}) as run:
        batches = Batches(images, "train", BATCH, 0, parse(recipe.augment))
        for p in fit(shared, batches, sampler, recipe, run, checkpoint_every=100):
            if p.step % 100 == 0:
                print(f"{label}: {p.step}/{p.steps} loss {p.loss:.3f}", flush=True)
    evaluate = SupernetEvaluator(shared.eval(), images, (CROSS_ENTROPY,))
    texts = list(_read(f"{name}-truth"))
    found = evaluate([space.parse(text) for text in texts])
    _write(f"{label}-cross-entropy", {t: m[CROSS_ENTROPY] for t, m in zip(texts, found, strict=True)})


def record() -> None:
    """tau-b of every score among the networks that were trained."""
    names, how = chosen_vote()
    obtained: dict[str, Any] = {}
    minutes = 0.0
    for name in SPACES:
        truths, proxies, entropies = (_read(f"{name}-{what}") for what in ("truth", "proxies", "cross-entropy"))
        texts = [t for t in truths if t in proxies]
        if len(texts) < 3:
            continue
        minutes += sum(t["seconds"] for t in truths.values()) / 60
        truth = np.array([truths[t]["accuracy"] for t in texts])
        known = {p: np.array([proxies[t][p] for t in texts]) for p in POOL}
        scores = {p: np.where(np.isnan(x), np.nanmin(x) - 1, x) for p, x in known.items()}
        scores["vote"] = vote(known, names, how)
        if all(t in entropies for t in texts):
            scores[ALONE] = -np.array([entropies[t] for t in texts])
            scores[TOGETHER] = vote({**scores, **known}, (*names, ALONE), how)
        if started_alike := _read(f"{name}-alike-cross-entropy"):
            scores["cross_entropy_alike"] = -np.array([started_alike[t] for t in texts])
        pairs = {p: count_pairs(x, truth) for p, x in scores.items()}
        taus = {p: [round(v, 3) for v in (x.tau_b(), *x.interval())] for p, x in pairs.items()}
        obtained[name] = {"networks": len(texts), "accuracies": [float(f(truth)) for f in (np.min, np.mean, np.max)]}
        obtained[name] |= taus
        if ALONE in pairs:
            difference, interval = tau_difference(pairs[TOGETHER], pairs[ALONE])
            obtained[name]["together_less_alone"] = [round(v, 3) for v in (difference, *interval)]
        rows = zip(texts, truth.tolist(), *(x.tolist() for x in scores.values()), strict=True)
        kept = HERE / "beyond" / f"{name}.csv"  # for whoever has another score to compare
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(csv_text(("network", "accuracy", *scores), ([t, *(f"{v:.6g}" for v in x)] for t, *x in rows)))
    whole = len(obtained) == len(SPACES) and all(o["networks"] == NETWORKS and ALONE in o for o in obtained.values())
    gains = [o[TOGETHER][0] - o[ALONE][0] for o in obtained.values() if ALONE in o]
    joins = whole and sum(gains) > 0 and min(gains) >= -BELOW
    Record(
        "beyond",
        "in elastic and scaled spaces the vote with cross-entropy orders at least as well as cross-entropy alone",
        "ours",
        f"a higher mean tau-b of both spaces, in neither more than {BELOW} below",
        obtained,
        n=sum(o["networks"] for o in obtained.values()),
        held=joins,
        sentence=f"{'Complete' if whole else 'Pending'}: "
        + "; ".join(
            f"{n} " + ", ".join(f"{s} {o[s][0]:+.3f}" for s in ("vote", ALONE, TOGETHER) if s in o)
            for n, o in obtained.items()
        )
        + ".",
        spread="[tau-b, low, high], 95 % of tau by jackknife over networks; together_less_alone: of tau",
        seeds=[0],
        scale=f"{', '.join(SPACES.values())}; CIFAR-10, networks of {' and '.join(map(str, STEPS.values()))} steps of "
        f"{BATCH} images",
        cpu_minutes=round(minutes, 1),
    ).write()


def _read(what: str) -> dict[str, Any]:
    path = RUNS / f"{what}.json"
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return found


def _write(what: str, content: dict[str, Any]) -> None:
    RUNS.mkdir(parents=True, exist_ok=True)
    temporary = RUNS / f"{what}.tmp"
    temporary.write_text(json.dumps(content))
    os.replace(temporary, RUNS / f"{what}.json")


def main() -> None:
    """Run one of the commands."""
    torch.set_num_threads(1)
    match sys.argv[1:]:
        case ["train", name, *most]:
            train(name, int(most[0]) if most else NETWORKS)
        case ["score", name]:
            score(name)
        case ["supernet", name]:
            supernet(name)
        case ["alike", name]:
            supernet(name, "alike")
        case ["record"]:
            record()
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
