"""Where the vote stops, does a short training speak? Sums of training losses of a few hundred steps.

    python experiments/shortlist.py train SPACE     macro or nasbench201: short trainings, resumable
    python experiments/shortlist.py record          writes shortlist.toml from what was trained

Two samples of each space are trained: random networks of the true top 10 %, where no vote tells anything, and the
networks that the vote likes best, which is what a search would train. For the second, the question is what a search
gets if it takes the first of such a shortlist by its training, and not by the vote. Needs `voters.py score SPACE`.

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
NETWORKS, FAVOURITES = 80, 40  # of the true top 10 %, of the vote
STEPS, BATCH, RATE, DECAY = 200, 64, 0.1, 5e-4
SHORTLIST, DRAWS = 10, 2000  # networks of a shortlist, random shortlists among the favourites
CHECKED = (25, 50, 100, 200)  # steps after which the sum is looked at


def networks(name: str) -> list[int]:
    """Rows of random networks of the true top 10 %."""
    truth = table_of(name)[SPACES[name][1]].values
    best = np.argsort(truth, kind="stable")[-(len(truth) // 10) :]
    return [int(row) for row in np.random.default_rng(5).choice(best, NETWORKS, replace=False)]


def votes(name: str) -> Any:
    """The score of every network of a space by the vote of `search`."""
    names, how = chosen_vote()
    return vote(answers(f"{name}.json", table_of(name))[0], names, how)


def favourites(name: str) -> list[int]:
    """Rows of the networks that the vote likes best."""
    return [int(row) for row in np.argsort(-votes(name), kind="stable")[:FAVOURITES]]


def train(name: str) -> None:
    """A short training of each network; those that are there are kept."""
    torch.set_num_threads(1)
    RUNS.mkdir(parents=True, exist_ok=True)
    path = RUNS / f"{name}.json"
    known: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    space, archs = catalog.space(SPACES[name][0]), list(table_of(name))
    batches = Batches(data(), "train", BATCH, 0, parse("shift+flip"))
    rows = list(dict.fromkeys((*networks(name), *favourites(name))))
    for done, row in enumerate(rows, 1):
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
            print(f"{name}: {done} of {len(rows)}, {known[str(row)]['seconds']} CPU-seconds the last", flush=True)


def record() -> None:
    """tau-b in the true top 10 %, and what is taken of the vote's shortlists: by the vote, and by sums of losses."""
    obtained: dict[str, Any] = {}
    for name in SPACES:
        if not (RUNS / f"{name}.json").exists():
            continue
        known = json.loads((RUNS / f"{name}.json").read_text())
        truth, voted = table_of(name)[SPACES[name][1]].values, votes(name)
        top, liked = (
            np.array([row for row in rows if str(row) in known]) for rows in (networks(name), favourites(name))
        )
        seconds = float(np.mean([entry["seconds"] for entry in known.values()]))
        found: dict[str, Any] = {
            "networks": [len(top), len(liked)],
            "tau": {"vote": _tau(voted[top], truth[top])},
            "taken": {"vote": _taken(voted[liked], truth[liked])},
        }
        for steps in CHECKED:
            score = np.full(len(truth), np.nan)
            for row, entry in known.items():
                score[int(row)] = -sum(entry["losses"][:steps])
            found["tau"][f"{steps} steps"] = _tau(score[top], truth[top])
            found["taken"][f"{steps} steps"] = _taken(score[liked], truth[liked])
        found["cpu_seconds"] = {f"{steps} steps": round(seconds * steps / STEPS, 2) for steps in CHECKED}
        found["best"] = round(float(truth.max()), 2)
        obtained[name] = found
    last = f"{STEPS} steps"
    Record(
        "shortlist",
        "in the true top 10 %, the sum of training losses of a short training orders better than the vote",
        "Ru et al. 2021, arXiv 2006.04492",
        "tau-b above that of the vote, whose own value lies below the interval, in both spaces",
        obtained,
        n=sum(sum(o["networks"]) for o in obtained.values()),
        held=len(obtained) == len(SPACES) and all(o["tau"][last][1] > o["tau"]["vote"][0] for o in obtained.values()),
        sentence="; ".join(
            f"{n}: tau-b in the true top 10 % {o['tau']['vote'][0]:+.3f} by the vote, {o['tau'][last][0]:+.3f} "
            f"[{o['tau'][last][1]:+.2f}, {o['tau'][last][2]:+.2f}] after {STEPS} steps "
            f"({o['cpu_seconds'][last]} CPU-seconds per network); the network taken of {SHORTLIST} has "
            f"{o['taken']['vote'][0]:.2f} % by the vote and {o['taken'][last][0]:.2f} % after {STEPS} steps"
            for n, o in obtained.items()
        )
        + ".",
        spread="networks: [of the true top 10 %, of the vote's best]; tau: [tau-b, low, high], 95 % by jackknife; "
        "taken: [mean true accuracy of the network taken, mean "
        f"distance from the best of its shortlist], over {DRAWS} random shortlists of {SHORTLIST} of the vote's "
        f"{FAVOURITES} best",
        seeds=[0],
        scale=f"{NETWORKS} random networks of the true top 10 % and the vote's {FAVOURITES} best each; "
        + ", ".join(s for s, _ in SPACES.values())
        + f"; CIFAR-10 at 16 x 16, batch {BATCH}, SGD {RATE}, constant rate, one seed",
        cpu_minutes=round(sum(_minutes(n) for n in obtained), 1),
    ).write()


def _taken(score: Any, truth: Any) -> list[float]:
    """Of random shortlists, the first by the score: its mean true accuracy, and how far below the best that is."""
    rng = np.random.default_rng(7)  # the same shortlists for every score
    lists = [rng.choice(len(truth), SHORTLIST, replace=False) for _ in range(DRAWS)]
    taken = np.array([truth[rows[np.argmax(score[rows])]] for rows in lists])
    best = np.array([truth[rows].max() for rows in lists])
    return [round(float(taken.mean()), 3), round(float((best - taken).mean()), 3)]


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
