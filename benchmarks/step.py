"""Where the time of a training step goes, and what other ways of taking it would save.

Run: python benchmarks/step.py [--record]. Networks of 3 M MACs on images of 32 pixels, 128 at a time, as in a search.
One thread, processor time, medians of interleaved steps, so that ratios hold on a busy machine. `--record` writes
`experiments/training_step.toml`. With `TORCHINDUCTOR_FORCE_DISABLE_CACHES=1` the first step of `torch.compile` takes as
long as it does for a new network.
"""

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import SGD
from torch.profiler import ProfilerActivity, profile

from supernetic import catalog
from supernetic.blueprint import Blueprint
from supernetic.datasets.augment import parse
from supernetic.networks.controls import plain_network, resnet
from supernetic.nn.network import build
from supernetic.parallel.allocator import keep_freed_memory

BATCH, RESOLUTION, BUDGET = 128, 32, 3e6
ROUNDS, WARM_UP = 25, 3
PARTS = {  # kinds of torch's operators, by words in their names
    "convolution": ("convolution",),
    "batch norm": ("batch_norm",),
    "activation": ("relu", "hardtanh", "threshold", "clamp"),
    "update": ("add_", "mul_", "_foreach", "lerp", "addcmul", "copy_", "zero_", "sgd"),
}
Step = Callable[[], None]


def networks() -> dict[str, Blueprint]:
    space = catalog.space(f"mixed:channels=16,resolution={RESOLUTION},classes=10")
    return {
        "plain stack": plain_network(BUDGET, RESOLUTION, 10, 3),
        "ResNet": resnet(BUDGET, RESOLUTION, 10, 3),
        "bottlenecks": space.blueprint(space.parse("n1-m0.75x2-m0.75x2-m0.875x2-h4")),
        "largest": space.blueprint(space.parse("n1-m1.25x2-m0.5x1-p1.0x2")),
    }


def images(layout: torch.memory_format) -> tuple[Tensor, Tensor]:
    torch.manual_seed(0)
    x = torch.randn(BATCH, 3, RESOLUTION, RESOLUTION).contiguous(memory_format=layout)
    return x, torch.randint(10, (BATCH,))


def stepper(blueprint: Blueprint, *, layout: Any = torch.channels_last, **ways: bool) -> Step:
    """One update; by default as `training.loop` takes it."""
    network: Any = build(blueprint, seed=0).to(memory_format=layout)  # type: ignore[call-overload]
    network.train()
    parameters = list(network.parameters())
    fused = ways.get("fused", False)
    optimiser = SGD(parameters, 1e-3, 0.9, nesterov=True, weight_decay=5e-4, fused=fused)
    forward = torch.compile(network) if ways.get("compiled") else network
    x, labels = images(layout)

    def step() -> None:
        optimiser.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=ways.get("bfloat16", False)):
            loss = F.cross_entropy(forward(x).float(), labels, label_smoothing=0.1)
        loss.backward()  # type: ignore[no-untyped-call]
        if not ways.get("unclipped"):
            nn.utils.clip_grad_norm_(parameters, 5.0)
        optimiser.step()

    return step


WAYS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "other layout (contiguous)": {"layout": torch.contiguous_format},
    "fused SGD": {"fused": True},
    "no clipping": {"unclipped": True},
    "bfloat16": {"bfloat16": True},
    "torch.compile": {"compiled": True},
}


SPECIAL = ("bfloat16", "torch.compile")  # less precise, or in need of a compiler


def timed(step: Step) -> float:
    begin = process_time()
    step()
    return process_time() - begin


def ratios(blueprint: Blueprint) -> tuple[dict[str, float], dict[str, float], float]:
    """Time of each way as a share of the usual one; seconds that its first step takes; seconds of the usual one."""
    steps = {name: stepper(blueprint, **way) for name, way in WAYS.items()}
    first: dict[str, float] = {}
    for name, step in list(steps.items()):
        try:
            first[name] = timed(step)
        except Exception as error:  # a way that this machine does not have, such as a compiler
            print(f"  {name}: not here ({type(error).__name__})")
            del steps[name]
    for step in steps.values():
        for _ in range(WARM_UP):
            step()
    taken: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(ROUNDS):
        for name, step in steps.items():
            taken[name].append(timed(step))
    usual = taken["as it is"]
    shares = {n: round(median(a / b for a, b in zip(s, usual, strict=True)), 3) for n, s in taken.items()}
    return shares, {n: round(s, 2) for n, s in first.items()}, median(usual)


def parts(blueprint: Blueprint) -> dict[str, float]:
    """Shares of a step's time by kind of operator, in percent."""
    step = stepper(blueprint)
    for _ in range(WARM_UP):
        step()
    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        for _ in range(10):
            step()
    spent: Counter[str] = Counter()
    for event in profiled.key_averages():
        kind = next((k for k, words in PARTS.items() if any(w in event.key for w in words)), "rest")
        spent[kind] += event.self_cpu_time_total
    return {kind: round(100 * time / spent.total(), 1) for kind, time in spent.most_common()}


def augmentation() -> float:
    """Seconds of processor time for the augmented images of a batch."""
    augment, generator = parse("light+flip"), torch.Generator().manual_seed(0)
    pixels = torch.randint(256, (BATCH, RESOLUTION, RESOLUTION, 3), dtype=torch.uint8)

    def make() -> None:
        augment(pixels, RESOLUTION, generator)

    return median(timed(make) for _ in range(ROUNDS))


def main() -> None:
    torch.set_num_threads(1)
    keep_freed_memory()
    found: dict[str, Any] = {"augmented batch": {"milliseconds": round(1000 * augmentation(), 2)}}
    print(f"augmented images of a batch: {found['augmented batch']['milliseconds']:.2f} ms")
    for name, blueprint in networks().items():
        print(name)
        shares, first, seconds = ratios(blueprint)
        found[name] = {"milliseconds": round(1000 * seconds, 1), "parts": parts(blueprint), "ratios": shares}
        found[name] |= {"first_step_seconds": first}
        print(f"  {1000 * seconds:.1f} ms a step; " + ", ".join(f"{k} {v} %" for k, v in found[name]["parts"].items()))
        for way, share in shares.items():
            print(f"  {way:28} {share:.2f}   first step {first[way]:.1f} s")
    if "--record" in sys.argv:
        write(found)


def write(found: dict[str, Any]) -> None:
    sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))
    from record import Record

    timed_networks = {name: f["ratios"] for name, f in found.items() if "ratios" in f}
    safe = {n: min(v for k, v in of.items() if k not in SPECIAL) for n, of in timed_networks.items()}
    Record(
        "training_step",
        "no other way of taking the same step saves a tenth of its time, without a compiler or less precision",
        "ours: benchmarks/step.py; docs/findings/recipes.md",
        "a ratio of at least .9 for other layouts, optimisers and without clipping",
        found,
        n=ROUNDS,
        held=min(safe.values()) >= 0.9,
        sentence="Least time as a share of today's, by network: " + ", ".join(f"{n} {v:.2f}" for n, v in safe.items()),
        scale=f"{BUDGET / 1e6:g} M MACs, {BATCH} images of {RESOLUTION} pixels, one thread",
        cpu_minutes=round(process_time() / 60, 2),
    ).write()


if __name__ == "__main__":
    main()
