"""What is said about a model: as a record for programs, and as a page for people (`README.md`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

from ..numerals import LARGEST
from ..objective import show_quantity
from .int8_card import int8_section

if TYPE_CHECKING:
    from torch import Tensor

    from ..datasets.dataset import Images
    from .transform import Transform

RESIZE = "centre square, resized by Pillow: bicubic with antialiasing"
RESIZE_AGAIN = "then resized as floats: bicubic with antialiasing, cut to 0..1"
SCALE = "pixels / 255, then (x - mean) / std per channel"
LISTED_CLASSES = 20  # that the page names
SPLITS = {"test": "test images", "valid": "validation images", "train": "training images", "latency": "one machine"}
UNITS = {"accuracy": " %", "balanced_accuracy": " %", "f1": " %", "cross_entropy": " nats", "ms": " ms"}

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
    data_resolution: int = 0  # pixels that images are cut to first, as the data set was; 0: to `resolution` at once
    licence: str = ""  # of the data

    def check(self, most_pixels: int) -> None:
        """Refuse, by a `ValueError`, what a card cannot say: it may come from someone else.

        Args:
            most_pixels: The largest side of an image.
        """
        for value in (self.resolution, self.data_resolution or 1):
            if type(value) is not int or not 1 <= value <= most_pixels:
                raise ValueError(f"images must have 1 to {most_pixels} pixels a side, got {str(value)[:20]}")
        if self.channels not in (1, 3) or type(self.channels) is not int:
            raise ValueError(f"channels must be 1 or 3, got {str(self.channels)[:20]}")
        for name, values, least in (("mean", self.mean, -inf), ("std", self.std, 0.0)):
            numbers = len(values) == self.channels and all(type(v) in (int, float) and least < v < inf for v in values)
            if not numbers:
                raise ValueError(f"{name} must be {self.channels} numbers, finite{', above 0' if least == 0 else ''}")
        texts = (self.task, self.arch, self.space, self.recipe, self.licence, *self.classes, *self.notes)
        if not all(isinstance(text, str) for text in texts):
            raise ValueError("the task, classes, notes and settings must be text")
        for name, count in (("macs", self.macs), ("params", self.params)):
            if type(count) is not int or not 0 <= count <= LARGEST:
                raise ValueError(f"{name} must be a whole number, at least 0, got {str(count)[:20]}")
        if not all(isinstance(v, float | int) for v in self.metrics.values()):
            raise ValueError("metrics must be numbers")

    def prepare(self, images: Images) -> Tensor:
        """Normalise images for the network.

        Args:
            images: Bytes N x H x W x C, already cut to `data_resolution` or `resolution`.

        Returns:
            Floats N x C x resolution x resolution.
        """
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
        """Whether the data set's images had another resolution than the network's."""
        return self.data_resolution not in (0, self.resolution)


def page(card: Card, deviation: float | None, int8: Mapping[str, float | None] | None = None) -> str:
    """The model card, in Markdown.

    Args:
        card: What is said about the model.
        deviation: The largest difference of the ONNX file's logits; None if there is no such file.
        int8: What was measured of the quantised file; None if there is none.

    Returns:
        The page.
    """
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
        "## Measurements",
        _numbers(card),
        "## Use",
        "In Python with torch:",
        "```python\nimport supernetic\n"
        'network = supernetic.load("path/to/this/directory")  # a torch.nn.Module in evaluation mode\n'
        'transform = supernetic.transform("path/to/this/directory")  # a Pillow image to a tensor, as below\n'
        f"logits = network(transform(image)[None])  # float32, {shape}\n```",
    ]
    if deviation is not None:
        parts += [
            "Without torch and without supernetic, in Python or any language that has onnxruntime:",
            '```python\nimport onnxruntime\nsession = onnxruntime.InferenceSession("model.onnx")\n'
            f'(logits,) = session.run(["logits"], {{"images": images}})  # float32, {shape}\n```',
            f"The logits of `model.onnx` differ from torch's by at most {deviation:.1e} of the largest logit. "
            "The batch may have any size.",
        ]
    parts += [
        "On the command line, `supernetic predict path/to/this/directory IMAGES...` prepares and classifies images.",
        *([] if int8 is None else int8_section(int8)),
        "## Preprocessing",
        f"- {card.to_json()['preprocessing']['resize']}, to {_resolutions(card)} pixels;\n"
        f"- {'gray (ITU-R 601 luma)' if card.channels == 1 else 'RGB; gray images are repeated in all channels'}, "
        "upright by their EXIF orientation, transparent images on white;\n"
        f"- {SCALE}: mean {_list(card.mean)}, std {_list(card.std)}.",
        "## Classes",
        "\n".join(f"- {escape(name)}" for name in card.classes[:LISTED_CLASSES])
        + (f"\n- and {len(card.classes) - LISTED_CLASSES} more" if len(card.classes) > LISTED_CLASSES else ""),
        "`labels.txt` lists all classes in the order of the logits.",
        "## Licence and limits",
        f"The licence of the training images is: {escape(card.licence)}. The weights were learned from these images."
        if card.licence
        else "The licence of the training images is not recorded. The weights were learned from these images.",
        "The model assigns one of these classes to every image, even to an image that shows none of them. The "
        "measurements above hold for images like those they were made on. Probabilities (the softmax of the logits) "
        "are not calibrated.",
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
        return "No measurements were recorded."
    rows = []
    for name, value in card.metrics.items():
        on, _, what = name.partition("/")
        shown = f"{value:.4g}{UNITS.get(what, '')}" if isfinite(value) else "not a number"
        rows.append(["latency" if what == "ms" else escape(what.replace("_", " ")), shown, SPLITS.get(on, escape(on))])
    seeds = ", ".join(map(str, card.seeds))
    seed_line = f"One training, seed {seeds}." if len(card.seeds) == 1 else f"Seeds {seeds}." if card.seeds else ""
    return _table(["metric", "value", "measured on"], rows) + (f"\n\n{seed_line}" if seed_line else "")


def _table(head: list[str], rows: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows])


def _resolutions(card: Card) -> str:
    first = f"{card.data_resolution} x {card.data_resolution} and then " if card.resized_twice else ""
    return f"{first}{card.resolution} x {card.resolution}"


def _list(values: tuple[float, ...]) -> str:
    return ", ".join(f"{v:.6g}" for v in values)
