"""Does cross-entropy in a supernet improve the vote? Supernets of the recipe that learns, twelve CPU-minutes each.

    python experiments/learning.py long SET 12           the supernet: macro or nasbench201
    python experiments/voters.py score SET               the proxies
    python experiments/voters_supernet.py score SET      cross-entropies of all networks in that supernet, resumable
    python experiments/voters_supernet.py record         writes voters_supernet.toml from what there is

The rule, written down before any number below it was looked at:

1. Cross-entropy joins as one more voter with the weight of the others, by the aggregation that `voters.py` chose. That
   is what `search` does where it trains a supernet. No other score of the supernet, weight or supernet is tried.
2. NAS-Bench-Macro decides whether it helps: over all networks the vote with it must not be more than .02 below the vote
   without it, and the mean of both ends (all, true top 10 %) must be higher.
3. NAS-Bench-201 is looked at once, whatever macro says. Its cells have been looked at before, by earlier work.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import torch
from learning import BASES, CHOSEN, IMAGES, data, few, found, long_path, setting_of, supernet_of, text_of
from record import Record
from voters import OLD_VOTE, RUNS, answers, ask, both_ends, chosen_vote, scored, table_of, vote

from supernetic.datasets.augment import parse
from supernetic.datasets.batches import Batches
from supernetic.evaluators.supernet import SupernetEvaluator
from supernetic.ranking.combine import MEAN_RANK
from supernetic.ranking.correlation import count_pairs, tau_difference
from supernetic.runs.directory import open_run
from supernetic.training.loop import fit
from supernetic.training.recipe import recipe

MINUTES = 12  # of each supernet's training
METRIC, VOTER = "valid/cross_entropy", "cross_entropy"
TRUTHS = {"macro": "mean_acc", "nasbench201": "c10_test_200"}
BELOW = 0.02  # of the rule
REQUIRED = {"nasbench201": [0.72, 0.12], "macro": [0.78, 0.26]}
MOST_MINUTES = 60


def settings_of(name: str) -> dict[str, Any]:
    """Of the space that the longer supernet is of."""
    return BASES[name][1] | setting_of(name, CHOSEN[name])[0]


def score(name: str) -> None:
    """Cross-entropies of all networks of a set in the trained supernet, by batch statistics as in the studies."""
    path = long_path(name, MINUTES)
    plan = json.loads(path.with_name(f"{path.name}.plan.json").read_text())
    trained, shared = recipe(plan["recipe"]), supernet_of(plan["space"], recipe(plan["recipe"]))
    images = few(data(int(settings_of(name)["resolution"])), IMAGES)
    batches = Batches(images, "train", trained.batch_size, 0, parse(trained.augment))
    with open_run(path, {"space": plan["space"], "recipe": trained.settings(), "seed": 0}) as run:
        for _ in fit(shared, batches, trained.sampler, trained, run):
            sys.exit(f"{path} is not trained to its end: python experiments/learning.py long {name} {MINUTES}")
    ask(f"{name}-supernet.json", table_of(name), SupernetEvaluator(shared.eval(), images, (METRIC,), bn="batch"))


def judged(name: str) -> dict[str, Any]:
    """The vote with and without cross-entropy, at both ends."""
    names, how = chosen_vote()
    table, known, minutes = scored(name)
    entropies, scoring = answers(f"{name}-supernet.json", table_of(name))
    if len(table) < len(table_of(name)) or np.isnan(entropies[METRIC]).any():
        sys.exit(f"not all networks of {name} are scored yet")
    known[VOTER] = -entropies[METRIC]
    truth = table[TRUTHS[name]].values
    voters = {"vote": names, "with_cross_entropy": (*names, VOTER), "cross_entropy_alone": (VOTER,)}
    scores = {label: vote(known, members, how) for label, members in voters.items()}
    both: dict[str, Any] = {label: both_ends(x, truth) for label, x in scores.items()}
    pairs = {label: count_pairs(x, truth) for label, x in scores.items()}
    difference, interval = tau_difference(pairs["with_cross_entropy"], pairs["vote"])
    both["difference"] = [round(x, 3) for x in (difference, *interval)]
    if name == "nasbench201":
        for column in ("c100_valtest_200", "in16_valtest_200"):
            both[column] = both_ends(scores["with_cross_entropy"], table[column].values)
    if name == "macro" and (RUNS / "old.json").exists():
        norm = answers("old.json", table)[0]["grad_norm"]
        rows = np.flatnonzero(~np.isnan(norm))
        some = {n: x[rows] for n, x in {**known, "grad_norm": norm}.items()}
        both["old_vote_on_sample"] = both_ends(vote(some, (*OLD_VOTE, VOTER), MEAN_RANK), truth[rows])
        both["vote_on_sample"] = both_ends(vote(some, (*names, VOTER), how), truth[rows])
    training = (found(long_path(name, MINUTES)) or {})["cpu_seconds"] / 60
    both["cpu_minutes"] = {
        k: round(v, 1) for k, v in (("proxies", minutes), ("training", training), ("scoring", scoring))
    }
    return both


def record() -> None:
    """Both benchmarks, and what the rule says."""
    obtained = {name: judged(name) for name in TRUTHS if (RUNS / f"{name}-supernet.json").exists()}
    helps = None
    if "macro" in obtained:
        (before, top_before), (after, top_after) = (obtained["macro"][k] for k in ("vote", "with_cross_entropy"))
        helps = after >= before - BELOW and after + top_after > before + top_before
    label = "with_cross_entropy" if helps else "vote"
    reached = [
        got >= asked for name, o in obtained.items() for got, asked in zip(o[label], REQUIRED[name], strict=True)
    ]
    minutes = {name: sum(o["cpu_minutes"].values()) for name, o in obtained.items()}
    Record(
        "voters_supernet",
        "with cross-entropy in a supernet as one more voter, the vote orders both ends of NAS-Bench-201",
        "ranking anchors: AZ-NAS .741 over all cells, VKDNW's aggregate .750; the rule at the head of the script",
        {"required": REQUIRED, "stretch": {"nasbench201": [0.80, 0.30], "macro": 0.86}, "cpu_minutes": MOST_MINUTES},
        {**obtained, "helps_on_macro": helps},
        n=sum(len(table_of(name)) for name in obtained),
        held=len(obtained) == len(TRUTHS) and all(reached) and minutes["nasbench201"] <= MOST_MINUTES,
        sentence="; ".join(
            f"{name}: {o['with_cross_entropy']} with it, {o['vote']} without, {o['cross_entropy_alone']} alone, "
            f"{minutes[name]:.0f} CPU-minutes in all"
            for name, o in obtained.items()
        )
        + f" ([tau-b over all, over the true top 10 %]). Macro says that it {'helps' if helps else 'does not help'}.",
        interval=obtained.get("nasbench201", {}).get("difference", [0, 0, 0])[1:],
        spread="[tau-b over all, tau-b over the true top 10 %]; difference: with it less without it over all, "
        "[tau-b, low, high], 95 % by jackknife, which is also the interval",
        seeds=[0],
        scale=", ".join(text_of(n, settings_of(n)) for n in obtained)
        + f"; CIFAR-10; {IMAGES} validation images, batch statistics",
        cpu_minutes=round(sum(minutes.values()), 1),
    ).write()


def main() -> None:
    """Run one of the commands."""
    torch.set_num_threads(1)
    match sys.argv[1:]:
        case ["score", name]:
            score(name)
        case ["record"]:
            record()
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
