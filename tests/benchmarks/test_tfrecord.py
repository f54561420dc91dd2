from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from supernetic.benchmarks import tfrecord
from supernetic.benchmarks.tfrecord import crc32c, frames, masked
from supernetic.errors import TableError


def checksum(data: bytes) -> int:
    """Bit by bit, as the standard defines it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def frame(data: bytes) -> bytes:
    """One frame as TensorFlow writes it."""

    def hidden(text: bytes) -> bytes:
        crc = checksum(text)
        return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)

    length = struct.pack("<Q", len(data))
    return length + hidden(length) + data + hidden(data)


def write(path: Path, records: list[bytes]) -> Path:
    path.write_bytes(b"".join(map(frame, records)))
    return path


def test_crc32c_of_published_vectors() -> None:
    texts = [b"123456789", bytes(32), b"\xff" * 32, bytes(range(32)), b""]
    file = np.frombuffer(b"".join(texts), dtype=np.uint8)
    lengths = np.array([len(t) for t in texts])
    starts = np.concatenate(([0], np.cumsum(lengths)[:-1]))
    expected = [0xE3069283, 0x8A9136AA, 0x62A8AB43, 0x46DD794E, 0]
    assert crc32c(file, starts, lengths).tolist() == expected
    assert masked(np.array([0xE3069283], dtype=np.uint32)).tolist() == [
        ((0xE3069283 >> 15 | 0xE3069283 << 17) + 0xA282EAD8) & 0xFFFFFFFF
    ]


def test_records_come_back_over_several_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tfrecord, "FRAMES_PER_BATCH", 4)
    rng = np.random.default_rng(0)
    records = [rng.bytes(int(n)) for n in rng.integers(0, 50, 11)]
    assert list(frames(write(tmp_path / "r.tfrecord", records))) == records


def test_every_damaged_byte_is_noticed(tmp_path: Path) -> None:
    path = write(tmp_path / "r.tfrecord", [b"first", b"second record"])
    whole = path.read_bytes()
    for i in range(len(whole)):
        path.write_bytes(whole[:i] + bytes([whole[i] ^ 64]) + whole[i + 1 :])
        with pytest.raises(TableError, match=r"r\.tfrecord: record [01] is (damaged|cut off)"):
            list(frames(path))


def test_every_truncation_is_noticed(tmp_path: Path) -> None:
    path = write(tmp_path / "r.tfrecord", [b"first", b"second record"])
    whole = path.read_bytes()
    first = len(frame(b"first"))
    for i in [*range(1, first), *range(first + 1, len(whole))]:
        path.write_bytes(whole[:i])
        with pytest.raises(TableError, match=f"record {int(i > first)} is cut off, the file ends at byte {i}"):
            list(frames(path))


def test_the_damaged_record_is_named(tmp_path: Path) -> None:
    records = [bytes([i]) * 20 for i in range(10)]
    path = write(tmp_path / "r.tfrecord", records)
    whole = bytearray(path.read_bytes())
    whole[7 * len(frame(records[0])) + 15] ^= 1
    path.write_bytes(whole)
    with pytest.raises(TableError, match="record 7 is damaged: the checksum of its data"):
        list(frames(path))


def test_missing_and_empty_files(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"no\.tfrecord: the file cannot be read: No such file"):
        list(frames(tmp_path / "no.tfrecord"))
    (tmp_path / "empty.tfrecord").touch()
    with pytest.raises(TableError, match=r"empty\.tfrecord: the file cannot be read: .*empty"):
        list(frames(tmp_path / "empty.tfrecord"))
