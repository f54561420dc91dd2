"""Training steps of supernets with oneDNN's own number of kept kernels, and with ours (`supernetic/nn/__init__.py`).

Run: python benchmarks/kernels.py [--record]. Each child process trains one supernet with one of the two numbers, which
oneDNN reads once; one of each kind runs at a time, in turns, one thread each. The ratio is of processor time after a
first half that fills the memory of kernels, the memory is the peak of the process.
"""

import json
import os
import resource
import subprocess
import sys
from itertools import islice
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

VARIABLE, ONEDNN_KEEPS = "ONEDNN_PRIMITIVE_CACHE_CAPACITY", "1024"
SPACES = {  # and the steps of a measurement
    "scalenet": ("scalenet:resolution=16,width=0.25,classes=10", 240),
    "attentive": ("attentive:resolutions=16,width=0.25,classes=10", 120),
    "nasbench201": ("nasbench201:cells=1,channels=8,resolution=16", 240),
}
BATCH, ROUNDS = 64, 2


def measure(name: str) -> None:
    """Print milliseconds of a step and megabytes: what a child does."""
    import torch

    from supernetic import catalog
    from supernetic.datasets import load
    from supernetic.datasets.augment import parse
    from supernetic.datasets.batches import Batches
    from supernetic.samplers.uniform import Uniform
    from supernetic.supernets.supernet import Supernet
    from supernetic.training.loop import fit
    from supernetic.training.recipe import Recipe

    torch.set_num_threads(1)
    text, steps = SPACES[name]
    images = load("embedded", limit=1000)
    space = catalog.space(f"{text},in_channels=1")  # the images that come with the package are gray
    supernet = Supernet(space, seed=0)
    recipe = Recipe(length=f"{steps} steps", batch_size=BATCH, lr=1e-3, clip_norm=1.0)
    training = fit(supernet, Batches(images, "train", BATCH, 0, parse("flip")), Uniform(), recipe)
    for _ in islice(training, steps // 2):
        pass
    began = process_time()
    rest = sum(1 for _ in training)
    seconds = (process_time() - began) / rest
    print(json.dumps([1000 * seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000]))


def child(name: str, keeps: str | None) -> tuple[float, float]:
    """Milliseconds and megabytes of a child that keeps so many kernels; by default ours."""
    environment = {k: v for k, v in os.environ.items() if k != VARIABLE} | {"OMP_NUM_THREADS": "1"}
    if keeps:
        environment[VARIABLE] = keeps
    done = subprocess.run(
        [sys.executable, __file__, "child", name], env=environment, check=True, capture_output=True, text=True
    )
    milliseconds, megabytes = json.loads(done.stdout.splitlines()[-1])
    return milliseconds, megabytes


def main() -> None:
    found: dict[str, Any] = {}
    for name in SPACES:
        pairs = [(child(name, None), child(name, ONEDNN_KEEPS)) for _ in range(ROUNDS)]
        ratios = [ours[0] / theirs[0] for ours, theirs in pairs]
        found[name] = {
            "milliseconds": [round(median(p[i][0] for p in pairs), 1) for i in range(2)],
            "megabytes": [round(median(p[i][1] for p in pairs)) for i in range(2)],
            "ratio": round(median(ratios), 3),
            "ratios": [round(r, 3) for r in ratios],
        }
        print(f"{name}: {found[name]}", flush=True)
    if "--record" in sys.argv:
        write(found)


def write(found: dict[str, Any]) -> None:
    sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))
    from record import Record

    Record(
        "kernels",
        "to keep more compiled kernels makes steps in a super-supernet cheaper, and those of other supernets no dearer",
        "ours: benchmarks/kernels.py",
        {"scalenet": "a ratio of at most .8", "others": "of at most 1.05"},
        found,
        n=ROUNDS,
        held=found["scalenet"]["ratio"] <= 0.8 and all(f["ratio"] <= 1.05 for f in found.values()),
        sentence="Time of a step with ours as a share of that with oneDNN's own: "
        + ", ".join(f"{n} {f['ratio']:.2f}" for n, f in found.items()),
        scale=f"{'; '.join(text for text, _ in SPACES.values())}; batches of {BATCH}, uniform paths, one thread",
    ).write()


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        measure(sys.argv[2])
    else:
        main()
