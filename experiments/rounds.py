"""Do rounds that repeat their random numbers cost accuracy? A training in parts, with one seed for all or new ones.

Run: python experiments/rounds.py [--steps 1600] [--parts 4] [--seeds 6]. Each part begins with the weights of the one
before and goes on with the same linear schedule, as the last training of a race does. With one seed, every part sees
the same batches, augmented in the same way.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import process_time

import numpy as np
from record import Record
from scipy import stats

from supernetic.jobs.compare.comparison import NetworkTrainings
from supernetic.jobs.compare.steps import network_recipe
from supernetic.jobs.train.prepare import loading_of
from supernetic.networks.controls import plain_network
from supernetic.networks.pool import Training, dataset_of, train_all
from supernetic.parallel.workers import map_in_workers

BUDGET = 1e6  # MACs


def accuracy(seed: int, parts: int, steps: int, fresh: bool) -> float:
    """Validation accuracy after a training in parts."""
    loading = loading_of("embedded", None, 0)
    dataset = dataset_of(loading)
    recipe = replace(network_recipe(None), augment="light+flip")
    made = NetworkTrainings(dataset=dataset, loading=loading, recipe=recipe, seed=seed)
    network = plain_network(BUDGET, dataset.resolution, len(dataset.classes), dataset.channels)
    start, trained = None, None
    with tempfile.TemporaryDirectory() as folder:
        for part in range(parts):
            one = replace(made, seed=seed + 1000 * part if fresh else seed)
            task: Training = one.training(network, steps // parts, start, 1, (part / parts, (part + 1) / parts))
            (trained,) = train_all([task], Path(folder), workers=1)
            start = trained.path / "weights.safetensors"
        assert trained is not None
        return trained.metrics["valid/accuracy"]


def measure(item: tuple[int, bool], report: object, *, parts: int, steps: int) -> tuple[float, float]:
    """Accuracy and processor-minutes of one training."""
    begin = process_time()
    return accuracy(item[0], parts, steps, item[1]), (process_time() - begin) / 60


def main(steps: int, parts: int, seeds: int) -> None:
    """Compare, and write the record."""
    items = [(seed, fresh) for seed in range(seeds) for fresh in (False, True)]
    found = map_in_workers(partial(measure, parts=parts, steps=steps), items, 2)
    values = {fresh: np.array([f[0] for f, i in zip(found, items, strict=True) if i[1] == fresh]) for fresh in (0, 1)}
    gain = values[1] - values[0]
    half = float(stats.t.ppf(0.975, seeds - 1) * gain.std(ddof=1) / np.sqrt(seeds))
    interval = [round(float(gain.mean()) - half, 2), round(float(gain.mean()) + half, 2)]
    sentence = (
        f"Validation accuracy after {parts} parts of {steps // parts} steps: {values[0].mean():.2f} % with one seed, "
        f"{values[1].mean():.2f} % with a new one for each part: {gain.mean():+.2f} points [{interval[0]:+}, "
        f"{interval[1]:+}]."
    )
    print(sentence)
    Record(
        "rounds",
        "parts of a training with random numbers of their own end with a better network than parts that repeat them",
        "ours",
        "more than 0 points of validation accuracy",
        {"one_seed": values[0].round(2).tolist(), "new_seeds": values[1].round(2).tolist()},
        n=seeds,
        held=interval[0] > 0,
        sentence=sentence,
        interval=interval,
        spread="95 % over seeds (t, paired)",
        seeds=list(range(seeds)),
        scale=f"embedded images, plain stack of 1 M MACs, {steps} steps, light+flip",
        cpu_minutes=round(sum(f[1] for f in found), 1),
    ).write()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1600)
    parser.add_argument("--parts", type=int, default=4)
    parser.add_argument("--seeds", type=int, default=6)
    main(**vars(parser.parse_args()))
