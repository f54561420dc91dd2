"""What is said about a model: as a record for programs, and as a page for people (`README.md`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Any

from ..objective import show_quantity

if TYPE_CHECKING:
    from torch import Tensor

    from ..datasets.dataset import Images
    from .transform import Transform

RESIZE = "centre square, resized by Pillow: bicubic with antialiasing"
RESIZE_AGAIN = "then resized as floats: bicubic with antialiasing, cut to 0..1"
SCALE = "pixels / 255, then (x - mean) / std per channel"
SHOWN = 20  # classes that the page names
SPLITS = {"test": "test images", "valid": "validation images", "train": "training images", "latency": "one machine"}
UNITS = {"accuracy": " %", "cross_entropy": " nats", "ms": " ms"}

# what Markdown would take for more than text: some signs anywhere, some at word ends, some at the beginning, addresses
MARKUP = re.compile(r"[\\`*\[\]|~]|(?<![^\W_])_|_(?![^\W_])|^[-+#=]|:(?=//)|(?<=www)\.|@", re.I)


@dataclass(frozen=True)
class Card:
    """What a model is for, what it needs, where it comes from and how good it is."""

    name: str
    task: str
    classes: tuple[str, ...]
    resolution: int  # of the images that the network reads, in pixels
    channels: int  # 1 gray, 3 colour
    mean: tuple[float, ...]  # per channel, for pixels in 0..1
    std: tuple[float, ...]
    arch: str
    space: str
    macs: int
    params: int
    metrics: Mapping[str, float] = field(default_factory=dict)  # `test/accuracy` (percent), `latency/ms`, ...
    seeds: tuple[int, ...] = ()
    recipe: str = ""
    notes: tuple[str, ...] = ()
    data_resolution: int = 0  # images are cut to this side first, as the data set was; 0: to `side` at once
    licence: str = ""  # of the data

    def prepare(self, images: Images) -> Tensor:
        """Bytes N x H x W x C, cut to `data_side` or `resolution` already, as the network reads them."""
        import torch

        from ..datasets.augment import as_floats, resize

        x = resize(as_floats(torch.from_numpy(images)), self.resolution)
        mean, std = (x.new_tensor(v).view(1, -1, 1, 1) for v in (self.mean, self.std))
        return ((x - mean) / std).contiguous(memory_format=torch.channels_last)

    def transform(self) -> Transform:
        """The preprocessing as a function from one image (Pillow, or bytes H x W x C) to a tensor C x H x W."""
        from .transform import Transform

        return Transform(self)

    def to_json(self) -> dict[str, Any]:
        """The record in `model.json`, but for the network itself and the files' checksums."""
        return {
            "name": self.name,
            "task": self.task,
            "classes": list(self.classes),
            "preprocessing": {
                "resolution": self.resolution,
                "channels": self.channels,
                "mean": list(self.mean),
                "std": list(self.std),
                "data_resolution": self.data_resolution or self.resolution,
                "resize": f"{RESIZE}, {RESIZE_AGAIN}" if self.resized_twice else RESIZE,
                "scale": SCALE,
                "layout": "float32, N x C x resolution x resolution",
            },
            "settings": {"space": self.space, "arch": self.arch, "recipe": self.recipe, "seeds": list(self.seeds)},
            "metrics": {k: v if isfinite(v) else None for k, v in self.metrics.items()},
            "macs": self.macs,
            "params": self.params,
            "notes": list(self.notes),
            "licence": self.licence,
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Card:
        """The card that `to_json` wrote."""
        images, settings = record["preprocessing"], record["settings"]
        return cls(
            name=record["name"],
            task=record["task"],
            classes=tuple(record["classes"]),
            resolution=images["resolution"],
            channels=images["channels"],
            mean=tuple(images["mean"]),
            std=tuple(images["std"]),
            arch=settings["arch"],
            space=settings["space"],
            macs=record["macs"],
            params=record["params"],
            metrics={k: float("nan") if v is None else v for k, v in record["metrics"].items()},
            seeds=tuple(settings["seeds"]),
            recipe=settings["recipe"],
            notes=tuple(record["notes"]),
            data_resolution=0 if images["data_resolution"] == images["resolution"] else images["data_resolution"],
            licence=record["licence"],
        )

    @property
    def resized_twice(self) -> bool:
        """Whether the data set's images had another side than the network's."""
        return self.data_resolution not in (0, self.resolution)


def page(card: Card, deviation: float | None) -> str:
    """The model card, in Markdown. `deviation` is that of the ONNX file; None: there is no such file."""
    shape = f"N x {card.channels} x {card.resolution} x {card.resolution}"
    parts = [
        f"# {escape(card.name)}",
        escape(card.task),
        _table(
            ["", ""],
            [
                [
                    "input",
                    f"{card.resolution} x {card.resolution} pixels, {'gray' if card.channels == 1 else 'colour'}",
                ],
                ["output", f"logits of {len(card.classes)} classes"],
                ["multiply-accumulates per image", f"{show_quantity(card.macs)} ({card.macs:,})"],
                ["parameters", f"{card.params:,}"],
                ["search space", escape(card.space)],
                ["architecture", escape(card.arch)],
                *([["training recipe", escape(card.recipe)]] if card.recipe else []),
            ],
        ),
        "## Numbers",
        _numbers(card),
        "## Use",
        "In Python with torch:",
        "```python\nimport supernetic\n"
        'network = supernetic.load("path/to/this/directory")  # a torch.nn.Module in evaluation mode\n'
        f"logits = network(images)  # float32, {shape}, prepared as below\n```",
    ]
    if deviation is not None:
        parts += [
            "Without torch and without supernetic, in Python or any language that has onnxruntime:",
            '```python\nimport onnxruntime\nsession = onnxruntime.InferenceSession("model.onnx")\n'
            f'(logits,) = session.run(["logits"], {{"images": images}})  # float32, {shape}\n```',
            f"The logits of `model.onnx` were compared with torch's: they differ by {deviation:.1e} of the largest at "
            "most. The batch may have any size.",
        ]
    parts += [
        "`supernetic predict path/to/this/directory IMAGES...` prepares images itself and classifies them.",
        "## Images",
        f"- {card.to_json()['preprocessing']['resize']}, to {_resolutions(card)} pixels;\n"
        f"- {'gray (ITU-R 601 luma)' if card.channels == 1 else 'RGB; gray images are repeated'}, upright, transparent "
        f"ones on white;\n- {SCALE}: mean {_list(card.mean)}, std {_list(card.std)}.",
        "## Classes",
        "\n".join(f"- {escape(name)}" for name in card.classes[:SHOWN])
        + (f"\n- and {len(card.classes) - SHOWN} more" if len(card.classes) > SHOWN else ""),
        "All of them, in the order of the logits, are in `labels.txt`.",
        "## Licence and limits",
        f"The data's licence is: {escape(card.licence)}. The weights were learnt from them."
        if card.licence
        else "The data's licence is not recorded. The weights were learnt from them.",
        "Every image gets one of these classes, also one that shows none of them; the numbers above hold for images "
        "like those they were measured on. Probabilities (the softmax of the logits) are not calibrated.",
        *(["\n".join(f"- {escape(note)}" for note in card.notes)] if card.notes else []),
    ]
    return "\n\n".join(parts) + "\n"


def escape(text: str) -> str:
    """Text from outside as plain text in one line of Markdown, also within a table."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    line = MARKUP.sub(r"\\\g<0>", line)
    return re.sub(r"^(\d+)([.)])", r"\1\\\2", line)  # else the first of a numbered list


def _numbers(card: Card) -> str:
    if not card.metrics:
        return "None were recorded."
    rows = []
    for name, value in card.metrics.items():
        on, _, what = name.partition("/")
        shown = f"{value:.4g}{UNITS.get(what, '')}" if isfinite(value) else "not a number"
        rows.append(["latency" if what == "ms" else escape(what.replace("_", " ")), shown, SPLITS.get(on, escape(on))])
    seeds = ", ".join(map(str, card.seeds))
    said = f"One training, seed {seeds}." if len(card.seeds) == 1 else f"Seeds {seeds}." if card.seeds else ""
    return _table(["metric", "value", "measured on"], rows) + (f"\n\n{said}" if said else "")


def _table(head: list[str], rows: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows])


def _resolutions(card: Card) -> str:
    first = f"{card.data_resolution} x {card.data_resolution} and then " if card.resized_twice else ""
    return f"{first}{card.resolution} x {card.resolution}"


def _list(values: tuple[float, ...]) -> str:
    return ", ".join(f"{v:.6g}" for v in values)
