"""Annotations of objects in the two common formats: PASCAL VOC's XML files and COCO's JSON files.

    VOC     Annotations/*.xml, JPEGImages/, and ImageSets/Main/{train,val,test}.txt if the data name their splits
    COCO    annotations/*.json, */_annotations.coco.json, or a JSON file itself; a file is of the split that its name,
            or its folder's, holds: train, val or test

Nothing in these files is trusted: paths stay within the data's folder, and every number is checked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from ..datasets.images import SUFFIXES
from ..errors import DataError
from .annotations import Annotation, Box, DetectionData, Object, settle, take

SPLIT_NAMES = {"train": "train", "val": "valid", "valid": "valid", "test": "test"}  # of files, by ours
MOST_BYTES = 64 << 20  # of one XML file; longer ones are no annotation of an image
SIDES = ("xmin", "ymin", "xmax", "ymax")
FORMATS = "VOC has Annotations/*.xml and JPEGImages/, COCO annotations/*.json, */_annotations.coco.json or a JSON file"


def read_detection(source: str | Path, *, limit: int | None = None, seed: int = 0) -> DetectionData:
    """Read and check a data set of annotated images.

    Args:
        source: Its directory, or a COCO file.
        limit: Take a random subset of so many training images.
        seed: Of that subset, and of splits that the data do not name.

    Returns:
        The data.
    """
    path = Path(source)
    if not path.exists():
        raise DataError(f"{path} does not exist")
    if (path / "Annotations").is_dir():
        data = settle(path.resolve().name, None, _read_voc(path), seed=seed)
    else:
        classes, parts = _read_coco(path)
        data = settle(path.resolve().stem, classes, parts, seed=seed)
    return data if limit is None or limit >= len(data.splits["train"]) else take(data, limit, seed)


# --- VOC --------------------------------------------------------------------------------------------------------------


def _read_voc(root: Path) -> dict[str, list[Annotation]]:
    files = {root / "ImageSets" / "Main" / f"{name}.txt": split for name, split in SPLIT_NAMES.items()}
    lists = {split: file for file, split in files.items() if file.is_file()}
    named = {split: list(_names(file)) for split, file in lists.items()}
    if not named:
        named = {"": sorted(p.stem for p in (root / "Annotations").glob("*.xml"))}
    seen: dict[str, str] = {}
    for split, names in named.items():
        for name in names:
            if seen.setdefault(name, split) != split:
                raise DataError(f"{lists[split]}: an image must be in one split only, got {name} of {seen[name]} too")
    return {split: [_voc_image(root, name) for name in names] for split, names in named.items()}


def _names(file: Path) -> Iterator[str]:
    """The first word of each line: files of single classes have a number behind it."""
    for line in _text(file).splitlines():
        if words := line.split():
            yield words[0]


def _voc_image(root: Path, name: str) -> Annotation:
    file = root / "Annotations" / f"{name}.xml"
    if not re.fullmatch(r"[\w.+ ()-]+", name):
        raise DataError(f"{root}: the name of an image must be a plain file name, got {name!r}")
    try:
        if file.stat().st_size > MOST_BYTES:
            raise DataError(f"{file} is too large: at most {MOST_BYTES:,} bytes are read")
        tree = ElementTree.fromstring(_without_entities(file))
    except ElementTree.ParseError as error:
        raise DataError(f"{file} is not readable as XML: {error}") from None
    except OSError as error:
        raise DataError(f"{file} cannot be read: {error.strerror or error}") from None
    size = tree.find("size")
    sides = None if size is None else (_number(file, size, "width"), _number(file, size, "height"))
    if sides is not None and min(sides) <= 0:
        sides = None  # some tools write 0 for what they do not know
    objects = tuple(_voc_object(file, thing) for thing in tree.iter("object"))
    whole = None if sides is None else (round(sides[0]), round(sides[1]))
    return Annotation(_voc_pixels(root, name, tree), str(file), whole, objects)


def _without_entities(file: Path) -> str:
    """The text; declared entities, by which a small file can fill the memory, are refused."""
    text = _text(file)
    if "<!ENTITY" in text:
        raise DataError(f"{file}: an annotation must declare no entities")
    return text


def _voc_pixels(root: Path, name: str, tree: ElementTree.Element) -> Path:
    """The image of an annotation: of its own name, else of the name that it states."""
    folder = root / "JPEGImages"
    stated = Path((tree.findtext("filename") or "").replace("\\", "/")).name
    candidates = [folder / f"{name}{suffix}" for suffix in (".jpg", ".JPG", *sorted(SUFFIXES))]
    found = next((p for p in [*candidates, *([folder / stated] if stated else [])] if p.is_file()), None)
    if found is None:
        raise DataError(f"{root / 'Annotations' / name}.xml: its image must be in {folder}, which has no {name}.jpg")
    return found


def _voc_object(file: Path, thing: ElementTree.Element) -> Object:
    name, place = (thing.findtext("name") or "").strip(), thing.find("bndbox")
    if not name:
        raise DataError(f"{file}: an object must have a name")
    if place is None:
        raise DataError(f"{file}: the object {name!r} must have a bndbox")
    left, top, right, bottom = (_number(file, place, side) for side in SIDES)
    return Object(name, (left, top, right, bottom), (thing.findtext("difficult") or "0").strip() == "1")


def _number(file: Path, parent: ElementTree.Element, name: str) -> float:
    text = parent.findtext(name)
    try:
        return float(text or "")
    except ValueError:
        raise DataError(f"{file}: {parent.tag}/{name} must be a number, got {text!r}") from None


# --- COCO -------------------------------------------------------------------------------------------------------------


def _read_coco(path: Path) -> tuple[list[str], dict[str, list[Annotation]]]:
    files = _coco_files(path)
    parts: dict[str, list[Annotation]] = {}
    known: list[str] | None = None
    for split, file in files.items():
        classes, parts[split] = _coco_file(file)
        if known is not None and classes != known:
            raise DataError(f"{file}: its categories must be those of the other files, got {', '.join(classes)[:80]}")
        known = classes
    return known or [], parts


def _coco_files(path: Path) -> dict[str, Path]:
    if path.is_file():
        return {"": path}
    found = [p for pattern in ("annotations/*.json", "*/_annotations.coco.json", "*.json") for p in path.glob(pattern)]
    files: dict[str, Path] = {}
    for file in sorted(found):
        words = re.split(r"[^a-z]+", f"{file.parent.name} {file.stem}".lower())
        split = next((SPLIT_NAMES[w] for w in words if w in SPLIT_NAMES), "")
        if split in files:
            raise DataError(f"{path} holds several files of one split, {files[split].name} and {file.name}: name one")
        files[split] = file
    if not files:
        raise DataError(f"{path} holds no annotations of objects: {FORMATS}")
    return {s: f for s, f in files.items() if s} or files


def _coco_file(file: Path) -> tuple[list[str], list[Annotation]]:
    try:
        table = json.loads(_text(file))
    except ValueError as error:
        raise DataError(f"{file} is not readable as JSON: {error}") from None
    if not isinstance(table, dict) or not all(
        isinstance(table.get(k), list) for k in ("images", "annotations", "categories")
    ):
        raise DataError(f"{file} must hold the lists images, annotations and categories, as COCO's files do")
    try:
        names = {c["id"]: str(c["name"]) for c in table["categories"]}
        images = {i["id"]: i for i in table["images"]}
        objects: dict[Any, list[Object]] = {key: [] for key in images}
        for entry in table["annotations"]:
            if entry["image_id"] not in objects:
                raise DataError(
                    f"{file}: an annotation must be of an image listed there, got image {entry['image_id']}"
                )
            objects[entry["image_id"]].append(_coco_object(file, entry, names))
        annotations = [
            Annotation(_coco_pixels(file, image), f"{file}, image {key}", _coco_size(image), tuple(objects[key]))
            for key, image in images.items()
        ]
    except (KeyError, TypeError) as error:
        raise DataError(f"{file} lacks what COCO's files have: {type(error).__name__}: {error}") from None
    used = {o.name for things in objects.values() for o in things}
    parents = {c.get("supercategory") for c in table["categories"]}  # some tools list a parent that no box has
    return sorted({n for n in names.values() if n in used or n not in parents}), annotations


def _coco_object(file: Path, entry: Mapping[str, Any], names: Mapping[Any, str]) -> Object:
    if entry["category_id"] not in names:
        rule = f"a category must be one of {', '.join(map(str, names))}"
        raise DataError(f"{file}: {rule}, got {entry['category_id']} of annotation {entry.get('id')}")
    box = entry["bbox"]
    if not isinstance(box, list) or len(box) != 4 or not all(isinstance(v, int | float) for v in box):
        raise DataError(f"{file}: a bbox must be four numbers, got {box!r} of annotation {entry.get('id')}")
    left, top, width, height = map(float, box)
    corners: Box = (left, top, left + width, top + height)
    return Object(names[entry["category_id"]], corners, bool(entry.get("iscrowd")))


def _coco_size(image: Mapping[str, Any]) -> tuple[int, int] | None:
    width, height = image.get("width"), image.get("height")
    return (int(width), int(height)) if width and height else None


def _coco_pixels(file: Path, image: Mapping[str, Any]) -> Path:
    """The image beside its file, or in one of the folders that data sets keep it in."""
    name = str(image["file_name"])
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise DataError(f"{file}: file_name must stay within the data's folder, got {name!r}")
    split = file.stem.rpartition("_")[2]  # train2017 of instances_train2017
    root = file.parent.parent if file.parent.name == "annotations" else file.parent
    folders = (file.parent, root, root / split, root / "images" / split, root / "images")
    found = next((folder / name for folder in folders if (folder / name).is_file()), None)
    if found is None:
        raise DataError(f"{file}: its image {name} is neither in {root / split} nor in {root / 'images'}")
    return found


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{file} cannot be read: {getattr(error, 'strerror', None) or error}") from None
