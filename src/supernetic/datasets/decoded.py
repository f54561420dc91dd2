"""What is kept on disk about image files that stay in their files: a decoded copy of them, and what was found in them.

    KEY/                by `ImageFiles.key`: files that were changed have another key
        pixels.u8       the decoded copy: all images, N x H x W x C bytes, mapped into memory where they are read
        pixels.part     the same, as far as it is made
        parts.jsonl     a line for each part of it that is safely on disk: images so far, what was found in the part
        found.json      what was found in all of them
        digests.bin     16 bytes for each image, a hash of its pixels
        facts-*.json    what `survey` found out about a data set of these images
        shape.json      under a key of its own: the usual size and colours of files, from their headers

It lies in `images` in the cache directory (`cache.directory`); `SUPERNETIC_IMAGE_CACHE` names another place, or is
`off`: then no copy is made, and images are decoded whenever they are read. Everything here may be deleted at any time.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from filelock import FileLock

from ..errors import DataError
from .cache import CACHE_VARIABLE, directory
from .dataset import Images
from .image_files import ImageFiles, Size, usual_shape
from .memory import show_bytes

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer as Buffer

OFF, ON = ("off", "no", "0"), ("", "on", "yes", "1")
SPARE_BYTES = 10**9  # that a copy leaves free on the disk
DIGEST_BYTES = 16
MANY_IMAGES = 5_000  # whose headers are read once: every process of a job needs what they say
PIXELS, PART, PARTS, FOUND, DIGESTS = "pixels.u8", "pixels.part", "parts.jsonl", "found.json", "digests.bin"
SHAPE = "shape.json"

Digests = npt.NDArray[np.uint8]  # N x 16


@dataclass(frozen=True)
class Findings:
    """What was found in images while they were decoded."""

    changes: Counter[str]  # what was converted
    sizes: Counter[Size]
    modes: Counter[str]  # L or RGB

    @classmethod
    def none(cls) -> Findings:
        """Of no images."""
        return cls(Counter(), Counter(), Counter())

    def add(self, other: Findings) -> None:
        """Include those of more images."""
        self.changes.update(other.changes)
        self.sizes.update(other.sizes)
        self.modes.update(other.modes)

    def record(self) -> dict[str, Any]:
        """As JSON can hold it."""
        sizes = [[*size, n] for size, n in self.sizes.items()]
        return {"changes": dict(self.changes), "sizes": sizes, "modes": dict(self.modes)}

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Findings:
        """What `record` made."""
        sizes = Counter({(int(w), int(h)): int(n) for w, h, n in record["sizes"]})
        return cls(Counter(record["changes"]), sizes, Counter(record["modes"]))


def copies_wanted() -> bool:
    """Whether decoded copies are made and read."""
    return os.environ.get(CACHE_VARIABLE, "").lower() not in OFF


def place() -> Path:
    """The folder of everything that is kept about image files.

    Returns:
        What `SUPERNETIC_IMAGE_CACHE` names, or `images` in the cache directory.
    """
    chosen = os.environ.get(CACHE_VARIABLE, "")
    if chosen.lower() not in (*OFF, *ON):
        return Path(chosen)
    try:
        return directory() / "images"
    except RuntimeError:
        raise DataError("there is no home directory to keep decoded images in: set SUPERNETIC_CACHE") from None


@dataclass(frozen=True)
class Kept:
    """The folder of some image files; whatever is not there, or damaged, is None."""

    path: Path
    count: int  # images
    image_bytes: int  # of each

    @property
    def size(self) -> int:
        """Bytes of the decoded copy."""
        return self.count * self.image_bytes

    @property
    def pixels(self) -> Path | None:
        """The decoded copy, if all images are in it."""
        path = self.path / PIXELS
        return path if _size(path) == self.size else None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Within, no other process looks at the same images; one that wants to waits."""
        self.path.mkdir(parents=True, exist_ok=True)
        with FileLock(self.path / ".lock"):
            yield

    def missing_space(self) -> str:
        """What the disk has left, if that is too little for the copy; else ""."""
        free = shutil.disk_usage(self.path).free
        enough = self.size - (_size(self.path / PART) or 0) + SPARE_BYTES <= free
        return "" if enough else f"{self.path} has {show_bytes(free)} free"

    def record(self, name: str) -> dict[str, Any] | None:
        """What a JSON file holds."""
        try:
            content = json.loads((self.path / name).read_text())
        except (OSError, ValueError):
            return None
        return content if isinstance(content, dict) else None

    def findings(self) -> Findings | None:
        """What was found in all images."""
        record = self.record(FOUND)
        with suppress(KeyError, TypeError, ValueError):
            return None if record is None else Findings.from_record(record)
        return None

    def digests(self) -> Digests | None:
        """Hashes of the pixels of all images."""
        path = self.path / DIGESTS
        if _size(path) != self.count * DIGEST_BYTES:
            return None
        return np.fromfile(path, dtype=np.uint8).reshape(-1, DIGEST_BYTES)

    def write(self, name: str, content: bytes | dict[str, Any]) -> None:
        """Write a small file beside its place, then put it there; a place that cannot be written stays as it is."""
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        with suppress(OSError):
            handle, temporary = tempfile.mkstemp(dir=self.path, suffix=".tmp")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(data)
                os.replace(temporary, self.path / name)
            except BaseException:
                Path(temporary).unlink(missing_ok=True)
                raise

    def resume(self) -> tuple[int, Findings]:
        """Go on with a copy that a kill has left half-made.

        Returns:
            How many images are safely in it, and what was found in them.
        """
        done, found, kept = 0, Findings.none(), ""
        there = (_size(self.path / PART) or 0) // self.image_bytes
        with suppress(OSError, ValueError, KeyError, TypeError):
            for line in (self.path / PARTS).read_text().splitlines(keepends=True):
                record = json.loads(line)
                part, images = Findings.from_record(record), int(record["images"])
                if not line.endswith("\n") or not done < images <= min(there, self.count):
                    break  # the kill came between the pixels and this line
                done, kept = images, kept + line
                found.add(part)
        if done:
            os.truncate(self.path / PART, done * self.image_bytes)
            (self.path / PARTS).write_text(kept)
        else:
            self.drop_part()
        return done, found

    def drop_part(self) -> None:
        """Delete a copy that is half-made."""
        for name in (PART, PARTS):
            (self.path / name).unlink(missing_ok=True)


def kept_shape(root: str, names: Sequence[str]) -> tuple[int, bool]:
    """What `usual_shape` says about files; that of many is kept.

    Args:
        root: their folder.
        names: paths below it.

    Returns:
        The resolution, and whether they are gray.
    """
    if len(names) < MANY_IMAGES:
        return usual_shape(root, names)
    kept = Kept(place() / ImageFiles(root, tuple(names), resolution=0, gray=False).key(), len(names), image_bytes=0)
    record = kept.record(SHAPE) or {}
    if isinstance(record.get("resolution"), int) and isinstance(record.get("gray"), bool):
        return record["resolution"], record["gray"]
    resolution, gray = usual_shape(root, names)
    with suppress(OSError):
        kept.path.mkdir(parents=True, exist_ok=True)
    kept.write(SHAPE, {"resolution": resolution, "gray": gray})
    return resolution, gray


class CopyWriter:
    """Appends images to a decoded copy; a part counts once it is on disk.

    Args:
        kept: where; `kept.resume()` came before.
        done: images that are there already.
    """

    def __init__(self, kept: Kept, done: int) -> None:
        self.kept, self.done = kept, done
        self.files: list[IO[bytes]] = []
        for name in (PART, PARTS):
            self.files.append(open(kept.path / name, "ab"))  # noqa: SIM115

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in self.files:
            with suppress(OSError):  # a disk that is full was noticed before
                file.close()

    def add(self, images: Images, found: Findings) -> None:
        """One part: its pixels, and then the line that says so."""
        self.done += len(images)
        line = json.dumps({"images": self.done, **found.record()}) + "\n"
        contents: tuple[Buffer, Buffer] = np.ascontiguousarray(images).data, line.encode()
        for file, content in zip(self.files, contents, strict=True):
            file.write(content)
            file.flush()
            os.fsync(file.fileno())

    def finish(self) -> Path:
        """All images are there: the copy gets its name."""
        os.replace(self.kept.path / PART, self.kept.path / PIXELS)
        (self.kept.path / PARTS).unlink(missing_ok=True)
        return self.kept.path / PIXELS


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None
