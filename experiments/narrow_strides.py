"""What a fault of oneDNN did to our numbers: the same proxies and trainings with and without the workaround.

    python experiments/narrow_strides.py            asks all (resumable); writes narrow_strides.toml
    python experiments/narrow_strides.py JOB CHANNELS CODE THREADS SEED     one answer, as JSON (`votes`, `train`)

The fault is described in `nn/strided.py`: wrong weight gradients of strided 1 x 1 convolutions with few input channels,
such as the identities that open a stage of NAS-Bench-Macro. `CODE` is `mended` or `unmended`; the latter may end its
process, or stop it for ever, so every answer comes from a process of its own. Then one proxy of `ranker_macro.toml` is
measured again on all networks; that needs CIFAR-10, as `ranker.py` does. Answers go to `runs/narrow_strides/`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from contextlib import nullcontext
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from ranker import MEASURED_PROXIES, both_ends, table_of
from record import HERE, Record

import supernetic
from supernetic import catalog
from supernetic.datasets import load
from supernetic.evaluators import proxies as proxy_module
from supernetic.evaluators.proxies import ProxyEvaluator
from supernetic.evaluators.supernet import SupernetEvaluator
from supernetic.jobs.search.score import PROXY_IMAGES
from supernetic.jobs.train.supernet_run import load_supernet
from supernetic.nn import strided
from supernetic.ranking.correlation import count_pairs
from supernetic.runs.directory import read_records
from supernetic.space import Arch
from supernets import SPACES, data, few_images

Floats = npt.NDArray[np.float64]
RUNS = Path("runs/narrow_strides")
PROXIES = tuple(
    n for n in (*MEASURED_PROXIES["macro"], "snip") if n not in ("layers", "live_macs")
)  # that compute something
AGAIN = "grad_norm"  # the recorded proxy that is computed from weight gradients
NETWORKS, SCORED, STEPS, IMAGES = 100, 60, 150, 500
SCORE = "valid/cross_entropy"
WRONG, EIGHT = "unmended, 2 threads", "votes, 8 channels, mended, 2 threads"
TRIES = 10  # of a training
AVX2 = 8  # channels that this processor computes at a time
CASES = {  # job, channels, code, threads, seed; and the seconds to wait for an answer, or before a training is resumed
    "votes, 6 channels, mended, 1 thread": ("votes", 6, "mended", 1, 0, 300),
    "votes, 6 channels, mended, 2 threads": ("votes", 6, "mended", 2, 0, 300),
    "votes, 6 channels, unmended, 2 threads": ("votes", 6, "unmended", 2, 0, 300),
    "votes, 8 channels, mended, 2 threads": ("votes", 8, "mended", 2, 0, 300),
    "votes, 8 channels, unmended, 2 threads": ("votes", 8, "unmended", 2, 0, 300),
    "votes, 6 channels, unmended, 1 thread": ("votes", 6, "unmended", 1, 0, 300),
    "votes, 4 channels, unmended, 1 thread": ("votes", 4, "unmended", 1, 0, 300),
    "votes, 4 channels, unmended, 2 threads": ("votes", 4, "unmended", 2, 0, 100),
    "train, 6 channels, mended, 1 thread": ("train", 6, "mended", 1, 0, 120),
    "train, 6 channels, unmended, 2 threads": ("train", 6, "unmended", 2, 0, 120),
    "train, 6 channels, mended, 2 threads": ("train", 6, "mended", 2, 0, 120),
    "train, 6 channels, mended, 1 thread, seed 1": ("train", 6, "mended", 1, 1, 120),
}


def some(n: int) -> tuple[list[Arch], Floats]:
    """Random distinct networks and their accuracies in the benchmark."""
    table = table_of("macro")
    rows = np.random.default_rng(0).permutation(len(table))[:n]
    return [tuple(a) for a in table.archs[rows].tolist()], table["mean_acc"].values[rows]


def votes(channels: int, threads: int) -> dict[str, Any]:
    """Zero-cost proxies of the random networks."""
    torch.set_num_threads(threads)
    vars(proxy_module)["one_thread"] = nullcontext  # so that proxies take the given number of threads
    space = catalog.space(f"macro:channels={channels},resolution=28,in_channels=1,head=160")
    found = ProxyEvaluator(space, load("embedded"), PROXIES, images=PROXY_IMAGES)(some(NETWORKS)[0])
    return {name: [m[f"proxy/{name}"] for m in found] for name in PROXIES}


def train(channels: int, code: str, threads: int, seed: int) -> dict[str, Any]:
    """The last training loss of a supernet, and what it says of some networks."""
    out = RUNS / f"{channels}-{code}-{threads}-{seed}"
    space = f"macro:channels={channels},head=160"
    supernetic.train(space, steps=STEPS, seed=seed, threads=threads, out=out)
    losses = [r["loss"] for r in read_records(out / "metrics.jsonl")]
    supernet, images = load_supernet(out)
    torch.set_num_threads(1)
    found = SupernetEvaluator(supernet, few_images(images, IMAGES), (SCORE,), bn="batch")(some(SCORED)[0])
    return {"loss": losses[-1], "scores": [m[SCORE] for m in found]}


def again() -> dict[str, Any]:
    """One proxy of `ranker_macro.toml`, of all networks."""
    torch.set_num_threads(1)
    evaluate = ProxyEvaluator(catalog.space(SPACES["macro"][0]), data(), (AGAIN,), images=PROXY_IMAGES)
    return {AGAIN: [m[f"proxy/{AGAIN}"] for m in evaluate([tuple(a) for a in table_of("macro").archs.tolist()])]}


def answer(job: str, channels: int, code: str, threads: int, seed: int) -> None:
    """Print it."""
    if code == "unmended":
        vars(strided)["at_risk"] = lambda *_: False
    jobs = {
        "votes": lambda: votes(channels, threads),
        "train": lambda: train(channels, code, threads, seed),
        "again": again,
    }
    print(json.dumps(jobs[job]()))


def ask(name: str, job: str, channels: int, code: str, threads: int, seed: int, limit: int) -> Any:
    """The answer of another process, or how it ended; asked once. A training that stops is resumed."""
    path = RUNS / f"{name.replace(', ', '-').replace(' ', '-')}.json"
    if path.exists():
        return json.loads(path.read_text())["answer"]
    RUNS.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, __file__, job, str(channels), code, str(threads), str(seed)]
    begin = getrusage(RUSAGE_CHILDREN).ru_utime
    result: Any = None
    for _ in range(TRIES if job == "train" else 1):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
        except subprocess.TimeoutExpired:
            result = f"no answer in {limit} s"
            continue
        if done.returncode > 0:
            sys.exit(done.stderr)
        if done.returncode == 0:
            result = json.loads(done.stdout.splitlines()[-1])
            break
        result = f"ended by signal {-done.returncode}"
    minutes = (getrusage(RUSAGE_CHILDREN).ru_utime - begin) / 60
    path.write_text(json.dumps({"answer": result, "minutes": minutes}))
    print(f"{name}: {result if isinstance(result, str) else 'answered'}, {minutes:.1f} CPU-minutes", flush=True)
    return result


def hit(arch: Arch, channels: int) -> bool:
    """Whether a macro network has a strided 1 x 1 convolution of fewer input channels than AVX2 computes at a time."""
    layers = catalog.space(f"macro:channels={channels}").blueprint(arch)
    return any(x.kind == "conv" and x.kernel == 1 and x.stride > 1 and x.c_in < AVX2 for x in layers)


def moved(these: Any, those: Any, channels: int) -> dict[str, Any]:
    """By proxy: how far values are from the others, relative to them; [tau with accuracy, low, high] of both."""
    archs, truth = some(NETWORKS)
    rows = np.array([hit(a, channels) for a in archs])
    result: dict[str, Any] = {"networks_hit": int(rows.sum())}
    for name in PROXIES:
        a, b = np.array(these[name]), np.array(those[name])
        off = 100 * np.abs(a - b) / np.abs(b)
        result[name] = {
            "percent_off_at_most_if_not_hit": _short(off[~rows].max()),
            "tau": _tau(a, truth),
            "tau_of_the_others": _tau(b, truth),
            "tau_between": round(count_pairs(a, b).tau(), 3),
        }
        if rows.any():
            result[name] |= {"percent_off_median_if_hit": _short(np.median(off[rows])), "most": _short(off[rows].max())}
    return result


def supernets(found: dict[str, Any]) -> dict[str, Any]:
    """Loss, [tau with accuracy, low, high], and tau with the scores of the mended training with one thread."""
    truth = some(SCORED)[1]
    first = found["train, 6 channels, mended, 1 thread"]["scores"]
    result: dict[str, Any] = {}
    for name, one in found.items():
        if name.startswith("train") and not isinstance(one, str):
            result[name] = {
                "loss": round(one["loss"], 4),
                "cross_entropy": round(float(np.mean(one["scores"])), 4),
                "tau": _tau(-np.array(one["scores"]), truth),
                "tau_with_the_first": round(count_pairs(one["scores"], first).tau(), 3),
            }
    return result


def recorded(now: Floats) -> dict[str, Any]:
    """[tau, tau-b, low, high] of the proxy that was measured again, beside what is recorded."""
    table = table_of("macro")
    was = tomllib.loads((HERE / "ranker_macro.toml").read_text(encoding="utf-8"))["obtained"][f"vote_{AGAIN}"]
    return {"recorded": was, "again": both_ends(now, table[SPACES["macro"][1]].values)}


def main() -> None:
    """Ask all and write the record."""
    found = {name: ask(name, *case) for name, case in CASES.items()}
    everywhere = recorded(np.array(ask("again", "again", 8, "mended", 1, 0, 1800)[AGAIN]))
    one, two, bad = (found[f"votes, 6 channels, {x}"] for x in ("mended, 1 thread", "mended, 2 threads", WRONG))
    obtained: dict[str, Any] = {
        "ended": {name: x for name, x in found.items() if isinstance(x, str)},
        f"votes, 6 channels, {WRONG}": moved(bad, two, 6),
        "votes, 6 channels, mended, 2 threads against 1": moved(two, one, 6),
        f"votes, 8 channels, {WRONG}": moved(found[f"votes, 8 channels, {WRONG}"], found[EIGHT], 8),
        f"{AGAIN} of all networks, 8 channels, 1 thread": everywhere,
        "supernets": supernets(found),
    }
    wrong = obtained[f"votes, 6 channels, {WRONG}"]
    norm, nets = wrong[AGAIN], obtained["supernets"]
    kinds = ("mended, 1 thread", "mended, 2 threads", "mended, 1 thread, seed 1", WRONG)
    mended, other, seed, unmended = (nets[f"train, 6 channels, {x}"] for x in kinds)
    was, now = (everywhere[k]["all"][0] for k in ("recorded", "again"))
    Record(
        "narrow_strides",
        "the fault of oneDNN that was gone round (0.1.0) changed proxies and trainings of narrow macro networks",
        "ours; uxlfoundation/oneDNN#6035, docs/processors.md",
        "proxies of weight gradients and trainings differ below 8 channels on AVX2; others do not",
        obtained,
        n=NETWORKS,
        held=norm["percent_off_median_if_hit"] > 1 and wrong["jacov"]["most"] < 1 and abs(was - now) < 0.005,
        sentence=f"With 6 channels and two threads the gradient norm of {wrong['networks_hit']} of {NETWORKS} networks "
        f"was off by {norm['percent_off_median_if_hit']:g} % in the median; tau {norm['tau'][0]:.3f} in place of "
        f"{norm['tau_of_the_others'][0]:.3f}. A supernet's loss was {unmended['loss']:.2f} in place of "
        f"{mended['loss']:.2f} ({other['loss']:.2f} with two threads, {seed['loss']:.2f} with seed 1); its tau was "
        f"{unmended['tau'][0]:.2f}, theirs {mended['tau'][0]:.2f}, {other['tau'][0]:.2f} and {seed['tau'][0]:.2f}. "
        f"With 8 channels nothing moves on AVX2. Gradient norm over all networks was recorded with tau {was:.3f}, on "
        f"an earlier machine; it is {now:.3f} now.",
        interval=norm["tau"][1:],
        spread="[tau, low, high], 95 % by jackknife over networks",
        seeds=[0, 1],
        scale=f"a processor with AVX2; embedded data at 28 x 28, head 160: proxies of {NETWORKS} random networks, "
        f"on {PROXY_IMAGES} images; supernets of {STEPS} fair steps, {SCORED} networks scored on {IMAGES} images, the "
        f"unmended training stopped and was resumed; "
        f"{SPACES['macro'][0]}, CIFAR-10 at 16 x 16, for the proxy that was measured again",
        cpu_minutes=round(sum(json.loads(p.read_text())["minutes"] for p in RUNS.glob("*.json")), 1),
    ).write()


def _tau(x: Floats, y: Floats) -> list[float]:
    pairs = count_pairs(x, y)
    return [round(float(v), 3) for v in (pairs.tau(), *pairs.interval())]


def _short(x: float) -> float:
    return float(f"{x:.2g}")


if __name__ == "__main__":
    if sys.argv[1:]:
        answer(sys.argv[1], *[int(x) if x.isdigit() else x for x in sys.argv[2:]])  # type: ignore[arg-type]
    else:
        main()
