"""Within a budget: which networks of the space `mixed` learn most, if all have about the same MACs?

    python experiments/within_budget.py [PART/PARTS]    trains what is missing in runs/within_budget, one thread
    python experiments/within_budget.py record          writes within_budget.toml

A search of 20 minutes on CIFAR-10 lost to one random network of its own space. So: random networks near the limit, some
that have the most parameters of 2,000 random ones, and the largest ones of regular shapes, which a search raced mostly
until now. Each is trained on one thread for the same processor-seconds by the recipe of a search, then validated. Test
images are not used. What can be known without training (parameters, activations, the score of a search) is correlated
with the error that the race would expect at the end of an hour.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from prospects import SPACE, dataset, pace
from record import Record
from scipy.stats import kendalltau
from voters import IMAGES, chosen_vote

from supernetic import catalog
from supernetic.costs import costs_of
from supernetic.costs.macs import activations, cost
from supernetic.evaluators.proxies import ProxyEvaluator
from supernetic.jobs.compare.steps import network_recipe
from supernetic.jobs.search.forecast import later_error
from supernetic.jobs.time_plan import rescale_recipe
from supernetic.networks.controls import largest, random_at
from supernetic.networks.training import measure, one_thread, training
from supernetic.nn.network import build
from supernetic.objective import parse_where
from supernetic.proxies import full_name
from supernetic.ranking.combine import combine_ranks
from supernetic.runs.directory import append_records, read_records
from supernetic.space import Arch, Space
from supernetic.training.schedule import plan_of

SECONDS, MACS, SEED = 110.0, 3e6, 0
RANDOM, RICH, DRAWN = 16, 6, 2000  # random networks, those with most parameters, of how many
LEAST_MACS = 0.93  # of the limit
HOUR = 40.0  # times the processor-seconds of a training here: an hour of two processors, about
LINES = Path("runs/within_budget")
RANDOM_KIND = "random"
KNOWN = ("params", "activations", "macs", "vote")  # without training
REGULAR = ("s2-r0.875x1-r1.0x1-r0.875x1", "n1-m0.75x2-m0.75x2-m0.875x2-h4", "n1-p0.75x1-m0.75x3-m0.875x3-h4")


def networks(space: Space) -> dict[str, str]:
    """Names of the networks, with the kind of each, in turns."""
    limits = [parse_where(f"macs<={MACS:.0f}")]

    def draw(seed: int) -> Arch:
        return random_at(space, MACS, np.random.default_rng(seed), where=limits)

    def params(arch: Arch) -> int:
        return cost(space.blueprint(arch)).params

    random = [draw(seed) for seed in range(RANDOM)]
    sampled = space.sample(np.random.default_rng(0), 100 * DRAWN)
    macs = costs_of(space, sampled)
    near = sampled[(macs >= LEAST_MACS * MACS) & (macs <= MACS)][:DRAWN].tolist()
    rich = sorted({space.canonical(tuple(a)) for a in near}, key=params, reverse=True)[:RICH]
    by_hand = [space.parse(name) for name in REGULAR] + [largest(space, limits)]
    kinds = ((RANDOM_KIND, random), ("rich", rich), ("regular", by_hand))
    named = [(i / len(group), kind, space.name_of(arch)) for kind, group in kinds for i, arch in enumerate(group)]
    return {name: kind for _, kind, name in sorted(named)}


def trained(space: Space, name: str, kind: str) -> dict[str, Any]:
    """Train one network for its processor-seconds, and validate it."""
    data, recipe = dataset(), replace(network_recipe(None), augment="light+flip")
    blueprint = space.blueprint(space.parse(name))
    per_epoch = len(data.splits["train"]) // recipe.batch_size
    with one_thread():
        step = pace(recipe, blueprint)
        steps = int(SECONDS / step)
        network = build(blueprint, seed=SEED)
        begin = process_time()
        for _ in training(network, 32, data, rescale_recipe(recipe, plan_of(recipe, per_epoch), steps), SEED):
            pass
        spent = process_time() - begin
        found = measure(network.eval(), 32, data, ("valid/accuracy", "valid/cross_entropy"))
    costs = cost(blueprint)
    return {
        "network": name, "kind": kind, "macs": costs.macs, "params": costs.params,
        "activations": activations(blueprint), "ms": round(1000 * step, 2), "epochs": round(steps / per_epoch, 2),
        "valid": round(found["valid/accuracy"], 2), "cross_entropy": round(found["valid/cross_entropy"], 4),
        "seconds": round(spent, 1),
    }  # fmt: skip


def with_forecast(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add the error that a race would expect after an hour, and the score of a search among these networks."""
    usual = float(np.median([d["epochs"] for d in lines]))
    space, (voters, how) = catalog.space(SPACE), chosen_vote()
    found = ProxyEvaluator(space, dataset(), voters, images=IMAGES)([space.parse(d["network"]) for d in lines])
    names = [full_name(v) for v in voters]
    votes = combine_ranks([[answer[n] for answer in found] for n in names], how=how)
    return [
        {
            **d,
            "expected": round(later_error(100 - d["valid"], d["epochs"], HOUR, d["epochs"] / usual), 2),
            "vote": round(float(v), 3),
        }
        for d, v in zip(lines, votes, strict=True)
    ]


def record(lines: list[dict[str, Any]]) -> None:
    """Correlate, and write the record."""
    found = sorted(with_forecast(lines), key=lambda d: float(d["expected"]))
    random = [d for d in found if d["kind"] == RANDOM_KIND]
    taus = {of: {name: tau(group, name) for name in KNOWN} for of, group in (("all", found), ("random", random))}
    kinds = {
        kind: {"best": min(errors), "mean": round(float(np.mean(errors)), 2), "networks": len(errors)}
        for kind in sorted({d["kind"] for d in found})
        if (errors := [d["expected"] for d in found if d["kind"] == kind])
    }
    strongest = max(KNOWN, key=lambda name: abs(taus["all"][name][0]))
    value, p = taus["all"][strongest]
    Record(
        name="within_budget",
        claim="of networks with about the same MACs, something that is known without training says which learns most",
        source="ours",
        expected=f"Kendall's tau of {', '.join(KNOWN)} with accuracy to be expected: p < .0125 for one of them",
        obtained={"networks": found, "tau_and_p": taus, "expected_error": kinds},
        n=len(found),
        held=p < 0.05 / len(KNOWN),  # four questions
        sentence=f"Most says {strongest}: tau {value:+.2f} (p {p:.3f}) over {len(found)} networks.",
        scale=f"CIFAR-10, at most 3 M MACs, {SECONDS:.0f} processor-seconds of one thread each; forecast to an hour",
        cpu_minutes=round(sum(d["seconds"] for d in found) / 60, 1),
        seeds=[SEED],
    ).write()


def tau(networks: list[dict[str, Any]], name: str) -> list[float]:
    """Kendall's tau with the accuracy to be expected, and its p."""
    found = kendalltau([d[name] for d in networks], [-d["expected"] for d in networks])
    return [round(float(found.statistic), 3), round(float(found.pvalue), 4)]


def main(word: str) -> None:
    """Train a part of the networks, or record what there is."""
    LINES.mkdir(parents=True, exist_ok=True)
    done = [line for file in sorted(LINES.glob("*.jsonl")) for line in read_records(file)]
    if word == "record":
        return record(done)
    space = catalog.space(SPACE)
    part, parts = map(int, word.split("/"))
    known = {line["network"] for line in done}
    for name, kind in list(networks(space).items())[part - 1 :: parts]:
        if name not in known:
            line = trained(space, name, kind)
            append_records(LINES / f"{part}.jsonl", [line])
            print(json.dumps(line), flush=True)
    return None


if __name__ == "__main__":
    main(sys.argv[1] if sys.argv[1:] else "1/1")
