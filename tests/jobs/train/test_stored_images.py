"""Trainings on images that stay in their files: real processes, real kills."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep

import numpy as np
import pytest
from PIL import Image

from supernetic.runs.files import METRICS, SETTINGS, SPLITS, SUPERNET

COMPARED = (METRICS, SETTINGS, SPLITS, SUPERNET)
STEPS = 200
PEAKS = """
import sys, threading, time
from pathlib import Path
import psutil
from supernetic.datasets import load
from supernetic.datasets.augment import parse
from supernetic.datasets.batches import Batches
from supernetic.parallel import allocator

# Freed memory that is kept for the next step is not what is asked about here, and may differ by 100 MB between runs.
allocator.KEPT_BYTES = allocator.GROWTH_BYTES = allocator.PAD_BYTES = 2**22


def own_bytes(pid):
    # A page that processes share counts once. Pages of files do not count: the decoded copy is read through them, and
    # the system takes them back when it needs memory.
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:  # it has ended
        return 0
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith(("Pss_Anon", "Pss_Shmem")))


def watch():
    global peak
    while True:
        me = psutil.Process()
        peak = max(peak, sum(own_bytes(p.pid) for p in [me, *me.children(recursive=True)]))
        time.sleep(0.02)


peak = 0
threading.Thread(target=watch, daemon=True).start()
data = load(sys.argv[1])
batches = Batches(data, "train", 32, augment=parse("flip"))
for step in range(50):  # as many for few images as for many
    batches.batch(step)
for _ in zip(range(2), Batches(data, "valid", 32).evaluate()):
    pass
del batches
print(peak)
"""


def make(root: Path, per_class: int, side: int) -> Path:
    rng = np.random.default_rng(0)
    for name in ("hill", "lake", "wood"):
        (root / name).mkdir(parents=True)
        noise = rng.integers(0, 256, (side, side, 3), dtype=np.uint8)
        for i in range(per_class):
            Image.fromarray(np.roll(noise, i, axis=0)).save(root / name / f"{i:04}.jpg", quality=50)
    return root


def start(data: Path, out: Path, **environment: str) -> subprocess.Popen[bytes]:
    space = "macro:channels=4,resolution=8,head=16"
    options = ["--steps", str(STEPS), "--out", str(out), "--threads", "1", "--device", "cpu", "--quiet"]
    command = [sys.executable, "-m", "supernetic.cli", "train", space, str(data), *options]
    return subprocess.Popen(command, env={**os.environ, **environment}, stdout=subprocess.DEVNULL)


@pytest.mark.slow
@pytest.mark.parametrize("cache", ["on", "off"])
def test_killed_and_resumed_to_the_bytes_of_a_training_in_memory(tmp_path: Path, cache: str) -> None:
    data = make(tmp_path / "photos", 40, 12)
    stored = {
        "SUPERNETIC_IMAGE_MEMORY": "1K",
        "SUPERNETIC_CACHE": str(tmp_path / "cache"),
        "SUPERNETIC_IMAGE_CACHE": cache,
        "SUPERNETIC_LOADERS": "2",
    }
    straight = start(data, tmp_path / "straight")
    assert straight.wait() == 0
    killed = start(data, tmp_path / "killed", **stored)
    metrics, until = tmp_path / "killed" / METRICS, monotonic() + 300
    while monotonic() < until and (not metrics.exists() or metrics.read_text().count("\n") < 4):
        sleep(0.01)
    killed.kill()
    assert killed.wait() == -9, "it came to its end before it was killed"
    sleep(1)  # processes that read for it notice that it is gone, and release its lock
    assert start(data, tmp_path / "killed", **stored).wait() == 0
    for name in COMPARED:
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "straight" / name).read_bytes(), name
    assert bool(list((tmp_path / "cache").rglob("pixels.u8"))) is (cache == "on")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("cache", ["on", "off"])
def test_memory_does_not_grow_with_the_number_of_images(tmp_path: Path, cache: str) -> None:
    peaks = []
    for count in (150, 1500):
        data = make(tmp_path / str(count), count, 128)
        environment = {
            **os.environ,
            "SUPERNETIC_IMAGE_MEMORY": "1M",
            "SUPERNETIC_CACHE": str(tmp_path / "cache"),
            "SUPERNETIC_IMAGE_CACHE": cache,
            "SUPERNETIC_LOADERS": "1",
        }
        done = subprocess.run(
            [sys.executable, "-c", PEAKS, str(data)], env=environment, capture_output=True, text=True, check=True
        )
        peaks.append(int(done.stdout))
    more = 3 * 1350 * 128 * 128 * 3  # bytes by which the images themselves have grown
    assert peaks[1] - peaks[0] < more / 2, peaks
