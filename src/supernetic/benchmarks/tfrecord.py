"""TFRecord files, read without TensorFlow.

A file is a series of frames: length (8 bytes), its checksum (4), data, checksum of the data (4), all little-endian. The
checksums are CRC-32C, rotated and shifted.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..errors import TableError

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Checksums = npt.NDArray[np.uint32]

FRAMES_PER_BATCH = 4096  # whose checksums are computed together
HEADER_BYTES, TRAILER_BYTES = 12, 4


def frames(path: Path) -> Iterator[bytes]:
    """Yield the data of each frame, after verifying the checksums."""
    try:
        file: Bytes = np.memmap(path, dtype=np.uint8, mode="r")
    except (OSError, ValueError) as error:  # an empty file is a ValueError
        raise TableError(f"{path}: the file cannot be read: {getattr(error, 'strerror', None) or error}") from None
    first, start = 0, 0
    while start < len(file):
        starts, lengths, end, is_cut = _batch(file, start)
        _verify(path, file, first, starts, np.full(len(starts), 8), "length")
        if is_cut:
            raise TableError(f"{path}: record {first + len(starts)} is cut off, the file ends at byte {len(file)}")
        _verify(path, file, first, starts + HEADER_BYTES, lengths, "data")
        for s, n in zip((starts + HEADER_BYTES).tolist(), lengths.tolist(), strict=True):
            yield file[s : s + n].tobytes()
        first, start = first + len(starts), end


def _batch(file: Bytes, start: int) -> tuple[Ints, Ints, int, bool]:
    """Return starts and lengths of the next frames, their end, and whether the file ends inside the frame after."""
    starts: list[int] = []
    lengths: list[int] = []
    while start < len(file) and len(starts) < FRAMES_PER_BATCH:
        length = int.from_bytes(file[start : start + 8].tobytes(), "little")
        end = start + HEADER_BYTES + length + TRAILER_BYTES
        if end > len(file):
            return np.array(starts, dtype=np.int64), np.array(lengths, dtype=np.int64), start, True
        starts.append(start)
        lengths.append(length)
        start = end
    return np.array(starts, dtype=np.int64), np.array(lengths, dtype=np.int64), start, False


def _verify(path: Path, file: Bytes, first: int, starts: Ints, lengths: Ints, what: str) -> None:
    """Compare the checksum of each section of the file with the four bytes behind it."""
    stated = sum(file[starts + lengths + i].astype(np.uint32) << np.uint32(8 * i) for i in range(4))
    wrong = np.flatnonzero(masked(crc32c(file, starts, lengths)) != stated)
    if len(wrong):
        raise TableError(f"{path}: record {first + wrong[0]} is damaged: the checksum of its {what} does not match")


def crc32c(file: Bytes, starts: Ints, lengths: Ints) -> Checksums:
    """Return the CRC-32C (Castagnoli) of several sections at once: byte by byte, all sections together.

    Args:
        file: The bytes.
        starts: Where each section starts.
        lengths: Its number of bytes.
    """
    order = np.argsort(-lengths, kind="stable")
    sorted_starts, sorted_lengths = starts[order], lengths[order]
    table, crc = _crc_table(), np.full(len(starts), 0xFFFFFFFF, dtype=np.uint32)
    for i in range(int(lengths.max(initial=0))):
        n = int(np.searchsorted(-sorted_lengths, -i))  # sections longer than i
        head = crc[:n]
        crc[:n] = table[(head ^ file[sorted_starts[:n] + i]) & np.uint32(0xFF)] ^ (head >> np.uint32(8))
    result = np.empty_like(crc)
    result[order] = ~crc
    return result


def masked(crc: Checksums) -> Checksums:
    """Return a checksum as record files store it: rotated right by 15 bits, plus a constant."""
    return ((crc >> np.uint32(15)) | (crc << np.uint32(17))) + np.uint32(0xA282EAD8)


@lru_cache(maxsize=1)
def _crc_table() -> Checksums:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> np.uint32(1)) ^ np.uint32(0x82F63B78), table >> np.uint32(1))
    return table.astype(np.uint32)
