"""Within a budget: which networks of the space `mixed` learn most, if all have about the same MACs?

    python experiments/within_budget.py DATA [PART/PARTS]    trains what is missing in runs/within_budget, one thread
    python experiments/within_budget.py record               writes within_budget_DATA.toml for all data

DATA is `cifar10` (3 M MACs) or `fashion-mnist` (1 M). Searches lost to one random network of their own space. So:
random networks near the limit, some that have the most parameters of 2,000 random ones, the widest of regular shapes,
which a search raced mostly until now, and the largest network. Each is trained on one thread for the same processor-
seconds by the recipe of a search, then validated. Test images are not used. What can be known without training
(parameters, activations, the score of a search) is correlated with the error that the race would expect at the end.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from prospects import pace
from record import Record
from scipy.stats import kendalltau
from voters import IMAGES, chosen_vote

from supernetic import catalog
from supernetic.costs import costs_of
from supernetic.costs.macs import activations, cost
from supernetic.datasets import Dataset, load
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
from supernetic.space import Arch
from supernetic.training.schedule import plan_of

SECONDS, SEED = 110.0, 0  # processor-seconds
DRAWN, LEAST_MACS = 2000, 0.93  # random networks among which some have most parameters; of the limit, at least
RUNS = Path("runs/within_budget")
RANDOM, RICH, REGULAR = "random", "most parameters", "regular"
KNOWN = ("params", "activations", "macs", "vote")  # without training


@dataclass(frozen=True)
class Budget:
    """A limit on MACs, and how many networks of each kind are tried within it.

    Args:
        data: The data set.
        space: Text of the space.
        macs: The limit.
        networks: How many of each kind.
        growth: How many times as long the winner of a search is trained.
    """

    data: str
    space: str
    macs: float
    networks: dict[str, int]
    growth: float


BUDGETS = {
    b.data: b
    for b in (
        Budget("cifar10", "mixed:channels=16", 3e6, {RANDOM: 16, RICH: 6, REGULAR: 4}, 40.0),  # an hour
        Budget("fashion-mnist", "mixed:channels=8,resolution=28,in_channels=1", 1e6, {RANDOM: 6, REGULAR: 9}, 7.0),
    )
}


@lru_cache
def dataset(name: str) -> Dataset:
    """Decoded once."""
    return load(name)


def networks(budget: Budget) -> dict[str, str]:
    """Names of the networks, with the kind of each, in turns."""
    space, limits = catalog.space(budget.space), [parse_where(f"macs<={budget.macs:.0f}")]

    def macs(arch: Arch) -> int:
        return cost(space.blueprint(arch)).macs

    sampled = space.sample(np.random.default_rng(0), 100 * DRAWN)
    costs = costs_of(space, sampled)
    near = sampled[(costs >= LEAST_MACS * budget.macs) & (costs <= budget.macs)][:DRAWN].tolist()
    shapes = [[space.canonical(a) for a in shape if macs(a) <= budget.macs] for shape in space.regular()]  # type: ignore[attr-defined]
    groups = {
        RANDOM: [random_at(space, budget.macs, np.random.default_rng(i), where=limits) for i in range(16)],
        RICH: sorted(
            {space.canonical(tuple(a)) for a in near},
            key=lambda arch: (-cost(space.blueprint(arch)).params, arch),
        ),
        REGULAR: [largest(space, limits), *(max(shape, key=lambda a: (macs(a), a)) for shape in shapes if shape)],
    }
    named = [
        (i / n, kind, space.name_of(arch))
        for kind, n in budget.networks.items()
        for i, arch in enumerate(groups[kind][:n])
    ]
    return {name: kind for _, kind, name in sorted(named)}


def trained(budget: Budget, name: str, kind: str) -> dict[str, Any]:
    """Train one network for its processor-seconds, and validate it."""
    data, recipe = dataset(budget.data), replace(network_recipe(None), augment="light+flip")
    space = catalog.space(budget.space)
    blueprint = space.blueprint(space.parse(name))
    per_epoch = len(data.splits["train"]) // recipe.batch_size
    with one_thread():
        step = pace(recipe, blueprint, data)
        steps = int(SECONDS / step)
        by = rescale_recipe(recipe, plan_of(recipe, per_epoch), steps)
        network, begin = build(blueprint, seed=SEED), process_time()
        for _ in training(network, blueprint.resolution, data, by, SEED):
            pass
        spent = process_time() - begin
        found = measure(network.eval(), blueprint.resolution, data, ("valid/accuracy", "valid/cross_entropy"))
    costs = cost(blueprint)
    return {
        "network": name, "kind": kind, "macs": costs.macs, "params": costs.params,
        "activations": activations(blueprint), "ms": round(1000 * step, 2), "epochs": round(steps / per_epoch, 2),
        "valid": round(found["valid/accuracy"], 2), "cross_entropy": round(found["valid/cross_entropy"], 4),
        "seconds": round(spent, 1),
    }  # fmt: skip


def with_forecast(budget: Budget, lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add the error that a race would expect at the end, and the score of a search among these networks."""
    usual = float(np.median([d["epochs"] for d in lines]))
    space, (voters, how) = catalog.space(budget.space), chosen_vote()
    found = ProxyEvaluator(space, dataset(budget.data), voters, images=IMAGES)(
        [space.parse(d["network"]) for d in lines]
    )
    names = [full_name(v) for v in voters]
    votes = combine_ranks([[answer[n] for answer in found] for n in names], how=how)
    return [
        {
            **d,
            "expected": round(later_error(100 - d["valid"], d["epochs"], budget.growth, d["epochs"] / usual), 2),
            "vote": round(float(v), 3),
        }
        for d, v in zip(lines, votes, strict=True)
    ]


def record(budget: Budget, lines: list[dict[str, Any]]) -> None:
    """Correlate, and write the record."""
    found = sorted(with_forecast(budget, lines), key=lambda d: float(d["expected"]))
    random = [d for d in found if d["kind"] == RANDOM]
    taus = {of: {name: tau(group, name) for name in KNOWN} for of, group in (("all", found), ("random", random))}
    kinds = {
        kind: {"best": min(errors), "mean": round(float(np.mean(errors)), 2), "networks": len(errors)}
        for kind in sorted({d["kind"] for d in found})
        if (errors := [d["expected"] for d in found if d["kind"] == kind])
    }
    strongest = max(KNOWN, key=lambda name: abs(taus["all"][name][0]))
    value, p = taus["all"][strongest]
    Record(
        name=f"within_budget_{budget.data.replace('-', '_')}",
        claim="of networks with about the same MACs, something that is known without training says which learns most",
        source="ours",
        expected=f"Kendall's tau of {', '.join(KNOWN)} with accuracy to be expected: p < .0125 for one of them",
        obtained={"networks": found, "tau_and_p": taus, "expected_error": kinds},
        n=len(found),
        held=p < 0.05 / len(KNOWN),  # four questions
        sentence=f"Most says {strongest}: tau {value:+.2f} (p {p:.3f}) over {len(found)} networks.",
        scale=f"{budget.data}, at most {budget.macs / 1e6:g} M MACs, {SECONDS:g} processor-seconds of one thread each; "
        f"forecast to {budget.growth:g} times as long",
        cpu_minutes=round(sum(d["seconds"] for d in found) / 60, 1),
        seeds=[SEED],
    ).write()


def tau(networks: list[dict[str, Any]], name: str) -> list[float]:
    """Kendall's tau with the accuracy to be expected, and its p."""
    found = kendalltau([d[name] for d in networks], [-d["expected"] for d in networks])
    return [round(float(found.statistic), 3), round(float(found.pvalue), 4)]


def main(words: list[str]) -> None:
    """Train a part of the networks, or record what there is."""
    RUNS.mkdir(parents=True, exist_ok=True)
    done = {name: [d for file in sorted(RUNS.glob(f"{name}-*.jsonl")) for d in read_records(file)] for name in BUDGETS}
    if words == ["record"]:
        for name, lines in done.items():
            if lines:
                record(BUDGETS[name], lines)
        return
    budget, (part, parts) = BUDGETS[words[0]], map(int, (words[1] if words[1:] else "1/1").split("/"))
    known = {d["network"] for d in done[budget.data]}
    for name, kind in list(networks(budget).items())[part - 1 :: parts]:
        if name not in known:
            line = trained(budget, name, kind)
            append_records(RUNS / f"{budget.data}-{part}.jsonl", [line])
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
