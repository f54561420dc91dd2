"""int8: what quantisation loses, by the way it is done; what it saves; and whether processors agree.

    python experiments/int8.py            trains and measures what is missing in runs/int8.jsonl, then writes int8.toml
    python experiments/int8.py record     writes int8.toml of what has been measured so far
    python experiments/int8.py latency    times untrained networks of several sizes, float and int8
    python experiments/int8.py avx2       runs the files under qemu as a processor with AVX2 and without VNNI

Networks are trained briefly, each for the same processor-seconds of one thread. Ways of quantising are compared on
validation images; the default one then meets the test images. NNCF is measured if it is installed.
"""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np
import onnx
import onnxruntime  # type: ignore[import-untyped]
from record import Record

from supernetic import catalog
from supernetic.blueprint import Blueprint
from supernetic.datasets import Dataset, load
from supernetic.datasets.batches import Batches
from supernetic.exporters.int8 import CALIBRATION_IMAGES, _Batches, _folded, quantise
from supernetic.jobs.compare.steps import network_recipe
from supernetic.jobs.time_plan import rescale_recipe
from supernetic.networks.controls import mobilenet, plain_network, resnet
from supernetic.networks.training import one_thread, training
from supernetic.nn.network import Network, build
from supernetic.ranking.int8 import difference
from supernetic.runs.directory import append_records, read_records
from supernetic.timing.graph import graph
from supernetic.timing.measure import time_graph
from supernetic.training.schedule import plan_of

SEED, SECONDS, TIMED_STEPS = 0, 12.0, 10
LINES, FILES = Path("runs/int8.jsonl"), Path("runs/int8")
BUDGETS = {"embedded": 1e6, "cifar10": 6e6}
LIMITS = {"cifar10": 8_000}  # images that are taken
NETWORKS = {
    "embedded": ("plain", "resnet", "mobilenetv2", "mixed", "macro", "macro_at_lr_0.4"),
    "cifar10": ("resnet", "mobilenetv2", "macro"),
}
LONGER = {"macro_at_lr_0.4": 30.0}  # processor-seconds: in fewer it learns nothing
CAUTIOUS = ("mobilenetv2", "macro")  # trained with a learning rate of 0.1, not with the recipe's 0.4
NNCF_IMAGES = 64  # one by one, which takes it long
BATCH_IMAGES, EMULATED_IMAGES = 32, 200
EMULATOR = ("qemu-x86_64", "-cpu", "Haswell")
DEFAULT = "7 bits, per channel"


@dataclass(frozen=True)
class Way:
    """A way of quantising: what differs from the default."""

    per_channel: bool = True
    reduce_range: bool = True
    folded: bool = True
    weights: str = "QInt8"
    method: str = "MinMax"
    extra: dict[str, Any] = field(default_factory=dict)
    batch: int = BATCH_IMAGES


WAYS = {
    DEFAULT: Way(),
    "8 bits, per channel": Way(reduce_range=False),
    "8 bits, per tensor": Way(reduce_range=False, per_channel=False),
    "8 bits, per channel, BN not folded": Way(reduce_range=False, folded=False),
    "8 bits, unsigned, per channel": Way(reduce_range=False, weights="QUInt8", extra={"WeightSymmetric": True}),
    "7 bits, per channel, entropy": Way(method="Entropy"),
    "7 bits, per channel, 99.99 %": Way(method="Percentile", extra={"CalibPercentile": 99.99}),
    "7 bits, per channel, moving average": Way(
        extra={"CalibMovingAverage": True, "CalibMovingAverageConstant": 0.05}, batch=8
    ),
}
NNCF = "NNCF"


def blueprint(name: str, data: Dataset, macs: float) -> Blueprint:
    """A network by name, of about so many MACs."""
    shape = data.resolution, len(data.classes), data.channels
    controls = {"plain": plain_network, "resnet": resnet, "mobilenetv2": mobilenet}
    if name in controls:
        return controls[name](macs, *shape)
    size = {"embedded": 8, "cifar10": 16}[data.name]
    space = catalog.space(
        f"{name.partition('_')[0]}:channels={size},resolution={data.resolution},in_channels={data.channels}"
    )
    drawn = space.sample(np.random.default_rng(SEED + ("_" in name)), 1)[0]
    return space.blueprint(tuple(drawn.tolist()))


def trained(name: str, data: Dataset, macs: float) -> Network:
    """A network, trained for the processor-seconds."""
    plan, recipe = blueprint(name, data, macs), network_recipe(None)
    recipe = replace(recipe, lr=0.1) if name in CAUTIOUS else recipe
    schedule = plan_of(recipe, len(data.splits["train"]) // recipe.batch_size)

    def train(steps: int) -> Network:
        network = build(plan, seed=SEED)
        for _ in training(network, plan.resolution, data, rescale_recipe(recipe, schedule, steps), SEED):
            pass
        return network.eval()

    with one_thread():
        begin = process_time()
        train(TIMED_STEPS)
        seconds = LONGER.get(name, SECONDS)
        return train(max(TIMED_STEPS, int(seconds * TIMED_STEPS / (process_time() - begin))))


@lru_cache
def dataset(name: str) -> Dataset:
    """The images."""
    return load(name, limit=LIMITS.get(name))


def images_of(data: Dataset, split: str, resolution: int) -> tuple[np.ndarray, np.ndarray]:
    """Prepared images of a split, and their labels."""
    batches = Batches(data, split, 256, resolution=resolution)
    parts = [x.contiguous().numpy() for x, _ in batches.evaluate()]
    return np.ascontiguousarray(np.concatenate(parts)), data.labels[data.splits[split]]


def logits(model: bytes, images: np.ndarray) -> np.ndarray:
    """By onnxruntime, with one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    parts = [session.run(None, {"images": images[i : i + 256]})[0] for i in range(0, len(images), 256)]
    return np.concatenate(parts).reshape(len(images), -1)


def by_way(way: Way, model: bytes, images: np.ndarray) -> bytes:
    """Quantise in some way."""
    from onnxruntime.quantization import CalibrationMethod, QuantType, quantize_static  # type: ignore[import-untyped]

    with TemporaryDirectory() as folder:
        source = _folded(model, Path(folder)) if way.folded else onnx.load_model_from_string(model)
        file = Path(folder) / "int8.onnx"
        quantize_static(
            source,
            file,
            _Batches([images[i : i + way.batch] for i in range(0, len(images), way.batch)]),
            calibrate_method=CalibrationMethod[way.method],
            activation_type=QuantType.QUInt8,
            weight_type=QuantType[way.weights],
            per_channel=way.per_channel,
            reduce_range=way.reduce_range,
            extra_options=way.extra,
        )
        return file.read_bytes()


def by_nncf(model: bytes, images: np.ndarray) -> bytes:
    """Quantise by NNCF, with its default settings."""
    import nncf  # type: ignore[import-not-found]

    with TemporaryDirectory() as folder:
        source = _folded(model, Path(folder))
    data = nncf.Dataset([{"images": images[i : i + 1]} for i in range(NNCF_IMAGES)])
    quantised: bytes = nncf.quantize(source, data, subset_size=NNCF_IMAGES).SerializeToString()
    return quantised


def measured(data_name: str, name: str) -> dict[str, Any]:
    """Train one network, quantise it in all ways, validate them; test the default."""
    data = dataset(data_name)
    network = trained(name, data, BUDGETS[data_name])
    plan = network.blueprint
    weights = {n: t.detach().numpy() for n, t in network.state_dict().items()}
    floats = graph(plan, weights)
    fixed = Batches(data, "train", seed=SEED, resolution=plan.resolution).fixed(CALIBRATION_IMAGES)
    calibration = np.ascontiguousarray(fixed.numpy())
    valid, labels = images_of(data, "valid", plan.resolution)
    right = logits(floats, valid).argmax(1) == labels
    makers: dict[str, Any] = {title: partial(by_way, way) for title, way in WAYS.items() if title != DEFAULT}
    makers = {DEFAULT: quantise, **makers}
    if _has_nncf():
        makers[NNCF] = by_nncf
    ways: dict[str, Any] = {}
    FILES.mkdir(parents=True, exist_ok=True)
    for title, make in makers.items():
        begin = process_time()
        model = make(floats, calibration)
        seconds = process_time() - begin
        facts = difference("valid", logits(model, valid).argmax(1) == labels, right)
        ways[title] = {
            **{k: round(float(facts[f"valid/{k}"] or 0), 2) for k in ("difference", "low", "high")},
            "latency_ratio": round(_ratio(model, floats), 2),
            "seconds": round(seconds, 2),
        }
        if title in (DEFAULT, "8 bits, per channel", "8 bits, unsigned, per channel"):
            (FILES / f"{data_name}-{name}-{title}.onnx").write_bytes(model)
    np.savez(FILES / f"{data_name}-{name}.npz", images=valid[:EMULATED_IMAGES], labels=labels[:EMULATED_IMAGES])
    default = (FILES / f"{data_name}-{name}-{DEFAULT}.onnx").read_bytes()
    test, answers = images_of(data, "test", plan.resolution)
    tested = difference("test", logits(default, test).argmax(1) == answers, logits(floats, test).argmax(1) == answers)
    accuracy = float(tested["test/accuracy"] or 0)
    return {
        "data": data_name,
        "network": name,
        "float": round(accuracy - float(tested["test/difference"] or 0), 2),
        "int8": round(accuracy, 2),
        **{k: round(float(tested[f"test/{k}"] or 0), 2) for k in ("difference", "low", "high")},
        "images": len(answers),
        "valid_images": len(labels),
        "float_ms": round(time_graph(floats).ms, 4),
        "float_bytes": len(floats),
        "bytes": len(default),
        "ways": ways,
    }


def _ratio(model: bytes, floats: bytes) -> float:
    """Of latencies: each is measured three times in turn, and the least counts."""
    times = [(time_graph(model).ms, time_graph(floats).ms) for _ in range(3)]
    return min(a for a, _ in times) / min(b for _, b in times)


def _has_nncf() -> bool:
    try:
        import nncf  # noqa: F401
    except ImportError:
        return False
    return True


def record(lines: list[dict[str, Any]]) -> Record:
    """Whether the default loses nothing that can be shown, or less than a point."""
    worst = min(lines, key=lambda line: float(line["difference"]))
    return Record(
        name="int8",
        claim="in int8, with 7-bit weights and a scale per channel, no network loses more than a point",
        source="ours; docs/findings/int8.md",
        expected="test accuracy in int8 >= that in float - 1 point, for every network",
        obtained={f"{line['data']}, {line['network']}": _entry(line) for line in lines},
        n=len(lines),
        held=worst["difference"] >= -1,
        sentence=f"The most is lost by {worst['network']} on {worst['data']}: {worst['difference']:+.2f} points "
        f"[{worst['low']:+.2f}, {worst['high']:+.2f}] of {worst['float']:.2f} %.",
        interval=[worst["low"], worst["high"]],
        seeds=[SEED],
        scale=f"networks trained for {SECONDS:g} processor-seconds, but {LONGER}; {CALIBRATION_IMAGES} calibration "
        "images; ways are compared on validation images, latencies for one image with one thread",
    )


def _entry(line: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in line.items() if k not in ("data", "network")}


# --- sizes ------------------------------------------------------------------------------------------------------------

SIZES = {32: (1e6, 10e6, 100e6), 96: (10e6, 100e6)}  # MACs by resolution


def latencies() -> Record:
    """Float and int8 milliseconds of untrained networks: random weights take equally long."""
    found: dict[str, dict[str, float]] = {}
    for resolution, budgets in SIZES.items():
        images = np.random.default_rng(SEED).standard_normal((BATCH_IMAGES, 3, resolution, resolution), np.float32)
        for macs in budgets:
            for name, make in (("plain", plain_network), ("resnet", resnet), ("mobilenetv2", mobilenet)):
                floats = graph(make(macs, resolution, 10, 3))
                quantised = quantise(floats, images)
                times = {"float_ms": round(time_graph(floats).ms, 3), "ratio": round(_ratio(quantised, floats), 2)}
                found[f"{name}, {macs / 1e6:g}M MACs, {resolution} pixels"] = times
                print(name, macs, resolution, times, flush=True)
    faster = sum(entry["ratio"] < 1 for entry in found.values())
    return Record(
        name="int8_latency",
        claim="int8 is faster than float through onnxruntime",
        source="ours; docs/findings/int8.md",
        expected="a ratio of latencies below 1 for every network",
        obtained=found,
        n=len(found),
        held=faster == len(found),
        sentence=f"It is faster for {faster} of {len(found)} networks.",
        scale="one image, one thread, a processor with AVX-512 VNNI; the machine was busy, so ratios are rough",
    )


# --- another processor ------------------------------------------------------------------------------------------------

EMULATED = """
import sys, numpy, onnxruntime
for path in sys.argv[2:]:
    images = numpy.load(path.rpartition("-")[0] + ".npz")["images"]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    numpy.save(path + sys.argv[1], session.run(None, {"images": images})[0])
"""


def other_processor() -> Record:
    """The same files, here and as a processor with AVX2 computes them."""
    whole = [p.stem for p in FILES.glob("*.npz")]  # is written when all files of a network are there
    files = sorted(str(p) for p in FILES.glob("*.onnx") if p.stem.rpartition("-")[0] in whole)
    python = str(Path(sys.executable).resolve())
    site = str(Path(onnxruntime.__file__).parents[1])
    for tag, emulator in ((".here", ()), (".avx2", EMULATOR)):
        subprocess.run([*emulator, python, "-c", EMULATED, tag, *files], check=True, env={"PYTHONPATH": site})
    found: dict[str, dict[str, Any]] = {}
    for path in files:
        data, name, title = Path(path).stem.split("-", 2)
        here, there = (np.load(f"{path}{tag}.npy") for tag in (".here", ".avx2"))
        changed = int((here.argmax(1) != there.argmax(1)).sum())
        deviation = float(np.abs(here - there).max() / np.abs(here).max())
        found.setdefault(f"{data}, {name}", {})[title] = {"deviation": round(deviation, 4), "other_answers": changed}
    return Record(
        name="int8_avx2",
        claim="7-bit weights give the same logits on a processor without VNNI, and 8-bit weights do not",
        source="ours; docs/findings/int8.md",
        expected="a deviation of exactly 0 with 7 bits, for every network",
        obtained=found,
        n=len(found),
        held=all(ways[DEFAULT]["deviation"] == 0 for ways in found.values()),
        sentence=f"With 8 bits the largest logit is off by up to "
        f"{max(ways['8 bits, per channel']['deviation'] for ways in found.values()):.0%}, with 7 bits by nothing.",
        scale=f"{EMULATED_IMAGES} validation images; this processor has AVX-512 VNNI, the other is qemu's Haswell",
    )


def main() -> None:
    """Measure what is missing, then write the record."""
    logging.getLogger().setLevel(logging.ERROR)
    others = {"avx2": other_processor, "latency": latencies}
    if len(sys.argv) == 2 and sys.argv[1] in others:
        others[sys.argv[1]]().write()
        return
    LINES.parent.mkdir(exist_ok=True)
    for data in () if sys.argv[1:] == ["record"] else BUDGETS:
        for name in NETWORKS[data]:
            if (data, name) not in {(line["data"], line["network"]) for line in read_records(LINES)}:
                begin = process_time()
                line = {**measured(data, name), "cpu_minutes": round((process_time() - begin) / 60, 2)}
                append_records(LINES, [line])
                print(json.dumps(line), flush=True)
    found = record(read_records(LINES))
    found.cpu_minutes = round(sum(line["cpu_minutes"] for line in read_records(LINES)), 1)
    found.write()


if __name__ == "__main__":
    main()
