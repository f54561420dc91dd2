"""One pass over images that are not in memory: fingerprint, moments, duplicates, notes, and the decoded copy.

Everything that must be known of such a data set is found in the same pass, so that every image is decoded once. What
was found is kept (`decoded`): the next process that loads the same data reads a few small files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..progress import Event, OnEvent, ignore
from .dataset import Images, Indices, Labels, fingerprint_after_pixels, fingerprint_before_pixels
from .decoded import DIGEST_BYTES, DIGESTS, FOUND, PART, CopyWriter, Digests, Findings, Kept, copies_wanted, place
from .image_files import notes_of, require_readable
from .memory import show_bytes
from .stored import StoredImages, read_copy

PART_IMAGES = 64  # that are decoded, hashed and written at a time
TASK = "decode"  # what progress calls it

Histogram = npt.NDArray[np.int64]  # channels x 256


@dataclass(frozen=True)
class Facts:
    """What a data set of stored images is known to be."""

    fingerprint: str
    histogram: Histogram  # of the training images' bytes, by channel

    def record(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {"fingerprint": self.fingerprint, "histogram": self.histogram.tolist()}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Facts | None:
        """What `record` made; None if it is something else."""
        try:
            facts = cls(str(record["fingerprint"]), np.array(record["histogram"], dtype=np.int64))
        except (KeyError, TypeError, ValueError):
            return None
        return facts if len(facts.fingerprint) == 64 and facts.histogram.shape[1:] == (256,) else None


class Task(NamedTuple):
    """What facts are about, beside the images."""

    classes: Sequence[str]
    labels: Labels
    splits: Mapping[str, Indices]


class Part(NamedTuple):
    """What a process that reads hands over: torch passes the images through shared memory, if they are a tensor."""

    images: Any  # bytes N x H x W x C
    digests: bytes
    histogram: Histogram  # of those that are trained on
    found: Findings
    faults: list[str]


def survey(images: StoredImages, task: Task, on_event: OnEvent = ignore) -> tuple[StoredImages, list[str]]:
    """Look at all images once, and make the decoded copy of them unless there is one or none is wanted.

    Args:
        images: image files that nobody has looked at yet.
        task: their labels and splits.
        on_event: receives how large the copy will be, before it is made, and how far it is.

    Returns:
        The images, which are read from the copy from now on; and notes on what had to be changed.
    """
    images = replace(images, key=images.files.key())
    kept = _kept(images)
    with ExitStack() as held:
        try:
            held.enter_context(kept.locked())
            no_copy = "" if copies_wanted() else "no copy is wanted"
        except OSError as error:
            no_copy = f"{kept.path} cannot be written: {error.strerror or error}"
        facts, found = _facts_kept(images, task), kept.findings()
        images = replace(images, decoded=None if no_copy or found is None else kept.pixels)
        if images.decoded is None and not no_copy and (space := kept.missing_space()):
            no_copy = f"{space}, {show_bytes(kept.size)} are needed"
        makes_copy = images.decoded is None and not no_copy
        if facts is None or found is None or makes_copy:
            on_event(Event("prepare", _announcement(images, kept, no_copy)))
            seen = _pass(images, task, kept if makes_copy else None, on_event)
            facts, found = seen.facts, seen.found if images.decoded is None or found is None else found
            kept.write(FOUND, found.record())
            kept.write(DIGESTS, seen.digests.tobytes())
            kept.write(_facts_name(images, task), facts.record())
            images.known.digests = seen.digests
            if seen.writer is not None:
                images = replace(images, decoded=seen.writer.finish())
            elif makes_copy:
                no_copy = f"{kept.path} could not hold a copy of them"
    files = images.files
    if files.by_headers and files.gray != (set(found.modes) == {"L"}):  # headers were wrong
        return survey(StoredImages.of_files(replace(files, gray=not files.gray, by_headers=False)), task, on_event)
    images.known.facts[_facts_name(images, task)] = facts
    where = f"in {images.decoded}" if images.decoded else f"in their files, decoded whenever they are read: {no_copy}"
    notes = notes_of(found.changes, found.sizes, found.modes, files.resolution, files.gray)
    return images, [*notes, f"{show_bytes(images.nbytes)} of images stay {where}"]


def facts_of(images: StoredImages, task: Task) -> Facts:
    """Fingerprint and moments of a data set; all its images are read unless that was done before.

    Args:
        images: stored images, all of those that were looked at together or some of them.
        task: their labels and splits.

    Returns:
        The facts.
    """
    name = _facts_name(images, task)
    if name not in images.known.facts:
        facts = _facts_kept(images, task)
        if facts is None:
            facts = _pass(images, task, None, ignore).facts
            if images.key:
                _kept(images).write(name, facts.record())
        images.known.facts[name] = facts
    known: Facts = images.known.facts[name]
    return known


def digests_of(images: StoredImages) -> Digests:
    """A hash of the pixels of each image; all are read unless that was done before.

    Args:
        images: stored images.

    Returns:
        N x 16 bytes.
    """
    if images.known.digests is None:
        images.known.digests = _kept(images).digests() if images.key else None
    if images.known.digests is not None:
        return images.known.digests[images.places]
    nothing = np.zeros(len(images), dtype=bool)
    return _digests(part.digests for part in _parts(_Look(images, nothing), len(images)))


# --- the pass ---------------------------------------------------------------------------------------------------------


class _Seen(NamedTuple):
    facts: Facts
    found: Findings
    digests: Digests
    writer: CopyWriter | None  # of a copy that holds all images and only lacks its name


def _pass(images: StoredImages, task: Task, kept: Kept | None, on_event: OnEvent) -> _Seen:
    """All images in order, once, and a copy of them in `kept`; what a kill has left of one is read from there."""
    done, found = (0, Findings.none()) if kept is None else kept.resume()
    half = None if kept is None else kept.path / PART
    trained = np.zeros(len(images), dtype=bool)
    trained[task.splits["train"]] = True
    digest = fingerprint_before_pixels(images.shape, task.classes)
    histogram = np.zeros((images.shape[3], 256), dtype=np.int64)
    digests: list[bytes] = []
    faults: list[str] = []
    at = 0
    with ExitStack() as held:
        writer = None if kept is None else held.enter_context(CopyWriter(kept, done))
        for part in _parts(_Look(images, trained, half, done), len(images), done):
            pixels: Images = np.asarray(part.images)
            digest.update(np.ascontiguousarray(pixels).data)
            histogram += part.histogram
            digests.append(part.digests)
            faults += part.faults
            if at >= done:
                found.add(part.found)
                writer = None if faults else _written(writer, pixels, part.found)
            at += len(pixels)
            on_event(Event(TASK, done=at, total=len(images)))
    if kept is not None and writer is None:
        kept.drop_part()
    require_readable(faults)
    fingerprint = fingerprint_after_pixels(digest, task.labels, task.splits)
    return _Seen(Facts(fingerprint, histogram), found, _digests(digests), writer)


def _written(writer: CopyWriter | None, pixels: Images, found: Findings) -> CopyWriter | None:
    """The writer, or None once the disk has refused: the copy is a matter of speed, and everything goes on without."""
    if writer is None:
        return None
    try:
        writer.add(pixels, found)
    except OSError:
        return None
    return writer


def _parts(look: _Look, count: int, first: int = 0) -> Iterator[Part]:
    """All images in order, part by part; a part begins at `first`, if that is within."""
    from .stream import fetch_all

    starts = sorted({*range(0, first, PART_IMAGES), *range(first, count, PART_IMAGES)})
    rows = (np.arange(a, b) for a, b in zip(starts, [*starts[1:], count], strict=True))
    return fetch_all(look, rows)


@dataclass(frozen=True)
class _Look:
    """What processes do with the rows that they are given."""

    images: StoredImages
    trained: npt.NDArray[np.bool_]
    half: Path | None = None  # a copy that is half-made,
    done: int = 0  # and holds so many images

    def __call__(self, rows: Indices) -> Part:
        import torch

        faults: list[str] = []
        found = Findings.none()
        if self.half is not None and rows[-1] < self.done:
            pixels = read_copy(self.half, rows, self.images.shape)
        elif self.images.decoded is not None:
            pixels = self.images[rows]
        else:
            decoded = self.images.files.decode(rows)
            pixels, faults = decoded.images, decoded.faults
            found = Findings(decoded.changes, decoded.sizes, decoded.modes)
        digests = b"".join(blake2b(image.data, digest_size=DIGEST_BYTES).digest() for image in pixels)
        return Part(torch.from_numpy(pixels), digests, histogram_of(pixels[self.trained[rows]]), found, faults)


def histogram_of(images: Images) -> Histogram:
    """How often each byte occurs in each channel.

    Args:
        images: N x H x W x C.

    Returns:
        C x 256.
    """
    channels = range(images.shape[3])
    return np.stack([np.bincount(images[..., channel].ravel(), minlength=256) for channel in channels])


def _digests(parts: Iterable[bytes]) -> Digests:
    return np.frombuffer(b"".join(parts), dtype=np.uint8).reshape(-1, DIGEST_BYTES)


# --- what is kept -----------------------------------------------------------------------------------------------------


def _kept(images: StoredImages) -> Kept:
    return Kept(place() / images.key, len(images), images.image_bytes)


def _facts_name(images: StoredImages, task: Task) -> str:
    """The file that facts are kept in: a digest of everything that they depend on, beside the pixels."""
    digest = hashlib.sha256(repr([images.shape, *task.classes]).encode())
    for array in (images.places, task.labels, *task.splits.values()):
        digest.update(len(array).to_bytes(8, "little"))
        digest.update(np.ascontiguousarray(array).data)
    return f"facts-{digest.hexdigest()[:32]}.json"


def _facts_kept(images: StoredImages, task: Task) -> Facts | None:
    record = _kept(images).record(_facts_name(images, task)) if images.key else None
    return None if record is None else Facts.from_record(record)


def _announcement(images: StoredImages, kept: Kept, no_copy: str) -> str:
    """What will happen now, and how much room it takes."""
    size = show_bytes(images.nbytes)
    if images.decoded is not None:
        return f"{len(images):,} decoded images ({size}) are read once, to know that they are the same"
    if no_copy:
        return f"{len(images):,} images are decoded once, to know what they are; {size} are kept nowhere: {no_copy}"
    return f"{len(images):,} images are decoded once, into {kept.path}, which will take {size}"
