from __future__ import annotations

import hashlib
import re
from pathlib import Path

import numpy as np
import pytest

from supernetic.benchmarks import files, macro, nasbench201, transnas
from supernetic.benchmarks.files import DATA_DIR, archs_of, index_of, read_bundled, read_npz, restored, stored
from supernetic.errors import TableError
from supernetic.spaces.nasbench201 import NASBench201

BUNDLED = [nasbench201.ACCURACY_FILE, nasbench201.LATENCY_FILE, macro.TABLE_FILE, transnas.TABLE_FILE]


@pytest.mark.parametrize(("name", "digest"), BUNDLED)
def test_readme_states_licence_and_checksum_of_every_file(name: str, digest: str) -> None:
    row = next(line for line in (DATA_DIR / "README.md").read_text().splitlines() if f"`{name}`" in line)
    assert digest in row
    assert re.search(r"arXiv \d{4}\.\d{5}.*(MIT|Apache-2.0)", row)
    assert hashlib.sha256((DATA_DIR / name).read_bytes()).hexdigest() == digest


def test_bundled_files_are_small_and_hold_no_strings() -> None:
    assert {p.name for p in DATA_DIR.glob("*.npz")} == {name for name, _ in BUNDLED}
    assert sum(p.stat().st_size for p in DATA_DIR.glob("*.npz")) < 3e6
    for name, digest in BUNDLED:
        assert all(a.dtype.kind in "if" for a in read_bundled(name, digest).values())


def test_a_damaged_or_missing_bundled_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name, digest = macro.TABLE_FILE
    monkeypatch.setattr(files, "DATA_DIR", tmp_path)
    with pytest.raises(TableError, match=r"macro\.npz cannot be read: No such file"):
        read_bundled(name, digest)
    whole = (DATA_DIR / name).read_bytes()
    for damaged in (whole[:-100], whole[:5000] + b"x" + whole[5001:]):
        (tmp_path / name).write_bytes(damaged)
        with pytest.raises(TableError, match=r"macro\.npz is damaged: its SHA-256 must be 4724"):
            read_bundled(name, digest)


def test_broken_npz_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    np.savez(path, a=np.arange(1000))
    whole = path.read_bytes()
    for broken in (b"", b"nonsense", whole[:500], whole[:-30]):
        path.write_bytes(broken)
        with pytest.raises(TableError, match=r"t\.npz is not a complete npz file"):
            read_npz(path)
    np.savez(path, a=np.array([{}], dtype=object))
    with pytest.raises(TableError, match="without pickles"):
        read_npz(path)
    np.save(tmp_path / "bare.npy", np.arange(3))
    path.write_bytes((tmp_path / "bare.npy").read_bytes())
    with pytest.raises(TableError, match="bare array"):
        read_npz(path)


def test_stored_accuracies_come_back_and_ties_are_ties() -> None:
    accuracy = np.array([91.6067, 10.0, np.nan, 0.0])
    assert restored(stored(accuracy)).tolist()[:2] == [91.6067, 10.0]
    assert np.isnan(restored(stored(accuracy))[2])
    third = np.float32(100 / 3)
    assert len(np.unique(stored(np.array([third, np.nextafter(third, np.float32(99))])))) == 1


def test_architectures_as_numbers() -> None:
    space = NASBench201()
    archs = space.sample(np.random.default_rng(0), 100)
    assert (archs_of(space, index_of(space, archs)) == archs).all()
    assert index_of(space, np.full((1, 6), 4, dtype=np.int8)).tolist() == [15_624]
