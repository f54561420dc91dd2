from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from supernetic.benchmarks import macro, nasbench201, transnas
from supernetic.benchmarks.convert import main
from supernetic.benchmarks.files import DATA_DIR, read_npz

SOURCE = Path(__file__).parents[3] / "shared/data"


@pytest.mark.skipif(not (SOURCE / "nasbench201.npz").exists(), reason="needs ../shared/data/nasbench201.npz")
def test_conversion_gives_the_bundled_files(tmp_path: Path) -> None:
    digests = main(SOURCE, tmp_path)
    modules = (nasbench201.ACCURACY_FILE, nasbench201.LATENCY_FILE, macro.TABLE_FILE, transnas.TABLE_FILE)
    assert set(digests) == {name for name, _ in modules}
    for name in digests:  # contents rather than checksums: another zlib may compress differently
        new, old = read_npz(tmp_path / name), read_npz(DATA_DIR / name)
        assert set(new) == set(old)
        assert all(np.array_equal(new[k], old[k]) and new[k].dtype == old[k].dtype for k in new)
    assert not list(tmp_path.glob("*.tmp*"))
