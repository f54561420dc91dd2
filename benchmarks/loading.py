"""Images per second of batches from JPEG files and from the decoded copy of them, against a plain torch DataLoader.

Run: python benchmarks/loading.py [--images 20000] [--loaders 2] [--folder PLACE]. Pictures are made once, in PLACE. All
rivals have as many processes, batch sizes and orders alike, and give normalised floats; epochs are interleaved, ratios
are medians over them, of time on the clock. Memory is the peak of a process together with those that read for it, for
as many steps over a sixteenth of the images, a quarter, and all of them. A page that processes share counts once; pages
of files do not count, because the system takes them back when it needs memory.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from statistics import median
from threading import Thread
from time import perf_counter, sleep
from typing import Any

import numpy as np
import psutil  # type: ignore[import-untyped]
import torch
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from supernetic.datasets import Dataset as Images
from supernetic.datasets import load
from supernetic.datasets.batches import Batches
from supernetic.datasets.dataset import stored_images

SIDE_PIXELS = 224
BATCH_SIZE = 128
CLASSES = 10
REPEATS = 3
QUALITY = 90  # of the JPEG files; they have about 20 kB each


def make_pictures(folder: Path, count: int) -> Path:
    """Smooth shapes with some noise, so that files are as large as photographs of that size."""
    rng = np.random.default_rng(0)
    for label in range(CLASSES):
        (folder / f"class-{label}").mkdir(parents=True, exist_ok=True)
    for i in range(count):
        path = folder / f"class-{i % CLASSES}" / f"{i:06}.jpg"
        if not path.exists():
            coarse = Image.fromarray(rng.integers(0, 256, (14, 14, 3), dtype=np.uint8))
            smooth = np.asarray(coarse.resize((SIDE_PIXELS, SIDE_PIXELS), Image.Resampling.BICUBIC), dtype=np.int16)
            noisy = smooth + rng.integers(-8, 9, smooth.shape, dtype=np.int16)
            Image.fromarray(noisy.clip(0, 255).astype(np.uint8)).save(path, quality=QUALITY)
    return folder


class PlainFiles(Dataset[tuple[Tensor, int]]):
    """What a DataLoader is mostly given: a picture is opened, made a tensor and normalised, one at a time."""

    def __init__(self, data: Images, folder: Path) -> None:
        rows = data.splits["train"]
        self.paths = [str(folder / data.files[row]) for row in rows]
        self.labels = data.labels[rows].tolist()
        self.mean, self.std = (torch.tensor(v).view(3, 1, 1) for v in data.moments)

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        with Image.open(self.paths[index]) as image:
            pixels = np.array(image.convert("RGB"))
        x = torch.from_numpy(pixels).permute(2, 0, 1).contiguous().float().div(255)
        return (x - self.mean) / self.std, self.labels[index]


def plain_epoch(data: Images, folder: Path, loaders: int) -> Iterable[tuple[Tensor, Tensor]]:
    return DataLoader(PlainFiles(data, folder), BATCH_SIZE, shuffle=True, drop_last=True, num_workers=loaders)


def our_epoch(data: Images) -> Iterable[tuple[Tensor, Tensor]]:
    batches = Batches(data, "train", BATCH_SIZE)
    return (batches.batch(step) for step in range(batches.steps_per_epoch))


def images_per_second(epoch: Iterable[tuple[Tensor, Tensor]]) -> float:
    begin, seen = perf_counter(), 0
    for x, labels in epoch:
        assert x.shape[1:] == (3, SIDE_PIXELS, SIDE_PIXELS)
        seen += len(labels)
    return seen / (perf_counter() - begin)


def peak_megabytes(folder: Path, steps: int, environment: dict[str, str]) -> float:
    """Of a process that makes the batches of some steps, and of those that read for it."""
    command = [sys.executable, __file__, "--peak", str(steps), "--folder", str(folder)]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=True)
    return int(done.stdout) / 1e6


def print_peak(folder: Path, steps: int) -> None:
    peak = 0

    def watch() -> None:
        nonlocal peak
        me = psutil.Process()
        while True:
            peak = max(peak, sum(own_bytes(p.pid) for p in (me, *me.children(recursive=True))))
            sleep(0.1)

    Thread(target=watch, daemon=True).start()
    batches = Batches(load(folder), "train", BATCH_SIZE)
    for step in range(steps):
        batches.batch(step)
    print(peak)


def own_bytes(pid: int) -> int:
    """Of a process, its part of pages that it shares included, pages of files not."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:  # it has ended
        return 0
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith(("Pss_Anon", "Pss_Shmem")))


def settings(cache: Path, copy: str, loaders: int) -> dict[str, str]:
    return {
        "SUPERNETIC_IMAGE_MEMORY": "1M",
        "SUPERNETIC_IMAGE_CACHE": copy,
        "SUPERNETIC_CACHE": str(cache),
        "SUPERNETIC_LOADERS": str(loaders),
    }


def main(count: int, loaders: int, place: Path) -> None:
    folder, cache = place / f"jpeg-{count}", place / "cache"
    make_pictures(folder, count)
    shutil.rmtree(cache, ignore_errors=True)
    os.environ |= settings(cache, "on", loaders)
    begin = perf_counter()
    copied = load(folder)
    first = count / (perf_counter() - begin)
    stored: Any = stored_images(copied.images)
    in_files = replace(copied, images=replace(stored, decoded=None))
    print(f"{count:,} JPEGs of {SIDE_PIXELS} pixels, {loaders} processes, batches of {BATCH_SIZE}", flush=True)
    size = copied.images.nbytes / 1e9
    print(f"  decoded once into {size:.1f} GB, with fingerprint and moments: {first:,.0f} images/s", flush=True)
    rivals: dict[str, Callable[[], Iterable[tuple[Tensor, Tensor]]]] = {
        "plain DataLoader": lambda: plain_epoch(copied, folder, loaders),
        "ours, from files": lambda: our_epoch(in_files),
        "ours, from the decoded copy": lambda: our_epoch(copied),
    }
    measured: dict[str, list[float]] = {name: [] for name in rivals}
    for _ in range(REPEATS):
        for name, epoch in rivals.items():
            measured[name].append(images_per_second(epoch()))
    for name, rates in measured.items():
        ratios = [rate / plain for rate, plain in zip(rates, measured["plain DataLoader"], strict=True)]
        print(f"  {name:<28} {median(rates):>8,.0f} images/s  {median(ratios):5.2f} x plain", flush=True)
    steps = 2 * Batches(copied, "train", BATCH_SIZE).steps_per_epoch
    counts = count // 16, count // 4, count
    folders = [first_pictures(folder, place / f"jpeg-{count}-first-{n}", n) for n in counts[:-1]]
    print(f"  peak memory of {steps} steps (the images alone take {size:.1f} GB):", flush=True)
    for title, copy in (("files", "off"), ("the decoded copy", "on")):
        found = [peak_megabytes(f, steps, settings(cache, copy, loaders)) for f in (*folders, folder)]
        said = ", ".join(f"{megabytes:,.0f} MB at {n:,}" for n, megabytes in zip(counts, found, strict=True))
        print(f"    from {title}: {said} images", flush=True)


def first_pictures(folder: Path, fewer: Path, count: int) -> Path:
    """The first pictures again, as links to the same files."""
    shutil.rmtree(fewer, ignore_errors=True)
    for i in range(count):
        name = Path(f"class-{i % CLASSES}") / f"{i:06}.jpg"
        (fewer / name).parent.mkdir(parents=True, exist_ok=True)
        os.link(folder / name, fewer / name)
    return fewer


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=20_000)
    parser.add_argument("--loaders", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "supernetic-loading")
    parser.add_argument("--peak", type=int, metavar="STEPS", help="print the peak memory of some steps, in bytes")
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.peak:
        print_peak(given.folder, given.peak)
    else:
        main(given.images, given.loaders, given.folder)
