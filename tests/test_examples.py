"""The examples run as they are, each in a directory of its own, and do what they say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
EXPECTED = {  # patterns that the output has, in this order
    "01_own_images": [
        r"networks keep macs<=300K",
        r"export 2 models",
        r"\n *model-2 .*\n",
        r"\.png  (bag|sn|tr)",
    ],
    "02_own_space": [r"400 encodings of 6 choices", r"160 encodings keep macs<=200K", r"mine on embedded", r"model-1 "],
    "03_table_search": [r"random  9\d\.", r"nsga2   9\d\.", r"\* chosen", r"torch was not needed"],
    "04_resume": [r"killed .* finished: False", r"supernet.safetensors: the same", r"trials.*same", r"model-1/.*same"],
    "05_load_and_predict": [
        r"model-1: [\d,]+ parameters",
        r"% of 200 test",
        r"at most\n",
        r"example-05\.png  .*\d%",
    ],
    "08_own_space_class": [
        r"16 architectures; 1,1,1,1 has 1,402,112 MACs",
        r"(\[[01, ]+\] [1-5]\d{2},\d{3} MACs\n){3}",
    ],
}
SLOW = set(EXPECTED) - {"03_table_search", "08_own_space_class"}  # the others are whole searches on images
WITHOUT_RUNS = {"08_own_space_class"}


def test_all_examples_are_numbered_short_and_tested() -> None:
    files = sorted(EXAMPLES.glob("*.py"))
    assert [f.stem for f in files] == sorted(EXPECTED)
    assert [int(f.stem[:2]) for f in files] == list(range(1, len(files) + 1))
    assert all(len(f.read_text().splitlines()) < 60 for f in files)


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in EXPECTED])
def test_an_example_does_what_it_says(name: str, tmp_path: Path) -> None:
    if name.startswith("05"):
        pytest.importorskip("onnxruntime")
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py")],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert "DIFFERENT" not in done.stdout
    at = 0
    for pattern in EXPECTED[name]:
        found = re.compile(pattern).search(done.stdout, at)
        assert found, f"{pattern!r} is not in what follows:\n{done.stdout[at:]}"
        at = found.start()
    assert [p.name for p in tmp_path.iterdir()] == ([] if name in WITHOUT_RUNS else ["runs"])
