"""Where the vote stops, does a short training speak? Sums of training losses of networks of the true top 10 %.

    python experiments/shortlist.py train SPACE     macro or nasbench201: short trainings, resumable
    python experiments/shortlist.py record          writes shortlist.toml from what was trained

Paper: Ru et al., "Speedy Performance Estimation for Neural Architecture Search", arXiv 2006.04492 (TSE: the sum of
training losses). Reduced networks, which is what a CPU can train. Files go to `runs/shortlist/`.
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
from record import Record
from voters import answers, chosen_vote, table_of, vote

from supernetic import catalog
from supernetic.datasets.augment import parse
from supernetic.datasets.batches import Batches
from supernetic.nn.network import build
from supernetic.ranking.correlation import count_pairs
from supernets import data

RUNS = Path("runs/shortlist")
SPACES = {
    "macro": ("macro:channels=8,resolution=16,head=160", "mean_acc"),
    "nasbench201": ("nasbench201:cells=1,channels=8,resolution=16", "c10_test_200"),
}
NETWORKS, STEPS, BATCH, RATE, DECAY = 40, 100, 64, 0.1, 5e-4
CHECKED = (25, 50, 100)  # steps after which the sum is looked at


def networks(name: str) -> list[int]:
    """Rows of random networks of the true top 10 %."""
    truth = table_of(name)[SPACES[name][1]].values
    best = np.argsort(truth, kind="stable")[-(len(truth) // 10) :]
    return [int(row) for row in np.random.default_rng(5).choice(best, NETWORKS, replace=False)]


def train(name: str) -> None:
    """A short training of each network; those that are there are kept."""
    torch.set_num_threads(1)
    RUNS.mkdir(parents=True, exist_ok=True)
    path = RUNS / f"{name}.json"
    known: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    space, archs = catalog.space(SPACES[name][0]), list(table_of(name))
    batches = Batches(data(), "train", BATCH, 0, parse("shift+flip"))
    for done, row in enumerate(networks(name), 1):
        if str(row) in known:
            continue
        begin = process_time()
        network = build(space.blueprint(archs[row]), seed=0)
        optimiser = torch.optim.SGD(network.parameters(), RATE, 0.9, weight_decay=DECAY, nesterov=True)
        losses = []
        for step in range(STEPS):
            images, labels = batches.batch(step)  # the same for all networks
            optimiser.zero_grad()
            loss = F.cross_entropy(network(images), labels)
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            losses.append(round(float(loss.detach()), 5))
        known[str(row)] = {"losses": losses, "seconds": round(process_time() - begin, 2)}
        temporary = path.with_suffix(".tmp")
        temporary.write_text(json.dumps(known))
        os.replace(temporary, path)
        if done % 10 == 0:
            print(f"{name}: {done} of {NETWORKS}, {known[str(row)]['seconds']} CPU-seconds the last", flush=True)


def record() -> None:
    """tau-b among the trained networks: of the sums, of the vote, and of their mean rank."""
    names, how = chosen_vote()
    obtained: dict[str, Any] = {}
    for name in SPACES:
        if not (RUNS / f"{name}.json").exists():
            continue
        known = json.loads((RUNS / f"{name}.json").read_text())
        rows = np.array([int(r) for r in known])
        table = table_of(name)
        truth = table[SPACES[name][1]].values[rows]
        voted = vote(answers(f"{name}.json", table)[0], names, how)[rows]
        losses = np.array([known[str(r)]["losses"] for r in rows])
        seconds = float(np.mean([known[str(r)]["seconds"] for r in rows]))
        found: dict[str, Any] = {"networks": len(rows), "vote": _tau(voted, truth)}
        for steps in CHECKED:
            found[f"sum_{steps}"] = [*_tau(-losses[:, :steps].sum(axis=1), truth), round(seconds * steps / STEPS, 2)]
            found[f"last_{steps}"] = [
                *_tau(-losses[:, steps // 2 : steps].sum(axis=1), truth), round(seconds * steps / STEPS, 2)
            ]  # fmt: skip
        obtained[name] = found
    shown = {n: (o["vote"], o[f"sum_{STEPS}"]) for n, o in obtained.items()}
    better = all(total[1] > voted[0] for voted, total in shown.values())
    Record(
        "shortlist",
        "in the true top 10 %, the sum of training losses of a short training orders better than the vote",
        "Ru et al. 2021, arXiv 2006.04492",
        "tau-b above that of the vote, whose own value lies outside the interval",
        obtained,
        n=sum(o["networks"] for o in obtained.values()),
        held=bool(shown) and better,
        sentence="; ".join(
            f"{n}: vote {v[0]:+.3f} [{v[1]:+.2f}, {v[2]:+.2f}], sum of losses after {STEPS} steps {t[0]:+.3f} "
            f"[{t[1]:+.2f}, {t[2]:+.2f}] for {t[3]} CPU-seconds per network"
            for n, (v, t) in shown.items()
        )
        + ".",
        spread="[tau-b, low, high] (95 % of tau by jackknife), for sums then CPU-seconds per network; last_N: the "
        "second half of the steps only",
        seeds=[0],
        scale=f"{NETWORKS} random networks of the true top 10 % each; "
        + ", ".join(s for s, _ in SPACES.values())
        + f"; CIFAR-10 at 16 x 16, batch {BATCH}, SGD {RATE}, constant rate, one seed",
        cpu_minutes=round(sum(_minutes(n) for n in obtained), 1),
    ).write()


def _tau(score: Any, truth: Any) -> list[float]:
    pairs = count_pairs(score, truth)
    return [round(x, 3) for x in (pairs.tau_b(), *pairs.interval())]


def _minutes(name: str) -> float:
    return sum(float(entry["seconds"]) for entry in json.loads((RUNS / f"{name}.json").read_text()).values()) / 60


def main() -> None:
    """Run one of the commands."""
    match sys.argv[1:]:
        case ["train", name]:
            train(name)
        case ["record"]:
            record()
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
