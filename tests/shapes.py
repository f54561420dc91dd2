"""Small data sets of drawn squares and discs with their boxes, in VOC's and COCO's formats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

VOC = """<annotation><filename>{name}.png</filename><size><width>{width}</width><height>{height}</height></size>
{objects}</annotation>"""
OBJECT = """<object><name>{name}</name><difficult>{difficult}</difficult><bndbox><xmin>{0}</xmin><ymin>{1}</ymin>
<xmax>{2}</xmax><ymax>{3}</ymax></bndbox></object>"""


def drawn(rng: np.random.Generator, side: int = 64) -> tuple[Image.Image, list[tuple[str, tuple[int, int, int, int]]]]:
    """An image with a square and a disc."""
    image = Image.new("RGB", (side, side // 4 * 3), (40, 40, 40))
    pen, boxes = ImageDraw.Draw(image), []
    for name, half, left in (("disc", 0, 0), ("square", 1, side // 2)):
        size = int(rng.integers(12, 22))
        x, y = left + int(rng.integers(1, 9)), int(rng.integers(1, 20))
        box = (x, y, x + size, y + size)
        (pen.rectangle if half else pen.ellipse)(box, fill=(220, 60, 60) if half else (60, 60, 220))
        boxes.append((name, box))
    return image, boxes


def write_voc(root: Path, counts: dict[str, int], *, scale: int = 1) -> Path:
    """A data set in VOC's format; annotations are in pixels `scale` times as fine as the images."""
    for folder in ("Annotations", "JPEGImages", "ImageSets/Main"):
        (root / folder).mkdir(parents=True)
    rng, number = np.random.default_rng(0), 0
    for split, count in counts.items():
        names = []
        for _ in range(count):
            image, boxes = drawn(rng)
            name = f"image{number}"
            image.save(root / "JPEGImages" / f"{name}.png")
            objects = "".join(OBJECT.format(*(scale * v for v in b), name=n, difficult=0) for n, b in boxes)
            text = VOC.format(name=name, width=scale * image.width, height=scale * image.height, objects=objects)
            (root / "Annotations" / f"{name}.xml").write_text(text)
            names.append(name)
            number += 1
        (root / "ImageSets" / "Main" / f"{split}.txt").write_text("\n".join(names) + "\n")
    return root


def coco_of(root: Path, count: int) -> dict[str, Any]:
    """The same as a COCO table, its images written into `root/images`."""
    (root / "images").mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    table: dict[str, Any] = {"images": [], "annotations": []}
    table["categories"] = [{"id": 7, "name": "disc"}, {"id": 9, "name": "square"}]
    for i in range(count):
        image, boxes = drawn(rng)
        image.save(root / "images" / f"{i}.png")
        table["images"].append({"id": i, "file_name": f"{i}.png", "width": image.width, "height": image.height})
        for name, (left, top, right, bottom) in boxes:
            box = [left, top, right - left, bottom - top]
            entry = {"id": len(table["annotations"]), "image_id": i, "category_id": 7 if name == "disc" else 9}
            table["annotations"].append({**entry, "bbox": box, "iscrowd": 0})
    return table


def write_coco(root: Path, count: int) -> Path:
    """A data set of one COCO file."""
    (root / "annotations").mkdir(parents=True)
    (root / "annotations" / "all.json").write_text(json.dumps(coco_of(root, count)))
    return root
