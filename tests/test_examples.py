"""The examples run as they are, each in a directory of its own, and do what they say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
EXPECTED = {  # patterns that the output has, in this order
    "01_own_images": [
        r"networks satisfy macs<=300K",
        r"export 2 models",
        r"Take model-1: ",
        r"\n +\* model-1 .*\n",
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
    "06_search_arrays": [r"macro on arrays", r"model-1 ", r"torch\.Size\(\[1, 2\]\)", r"\d+ trials"],
    "07_optimise_a_function": [r"200 evaluations by NSGA2", r"\* +\d\d\.", r"Trial\(arch=.*status='ok'"],
    "08_own_parts": [r"small on embedded", r"model-1 "],
    "09_own_training_loop": [r"loss \d", r"(valid/cross_entropy \d.*valid/accuracy \d.*\n){2}"],
    "10_fine_tune_elsewhere": [r"(\d\d)% of 100 images are right"],
    "11_rank_own_numbers": [
        r"convolutions against c10_test_200",
        r"against      macs: worse",
        r"your own array: 0\.594",
    ],
    "12_own_space_class": [
        r"16 architectures; 1,1,1,1 has 1,402,112 MACs",
        r"(\[[01, ]+\] [1-5]\d{2},\d{3} MACs\n){3}",
    ],
}
WRITES_NOTHING = {"09_own_training_loop", "11_rank_own_numbers", "12_own_space_class"}
SHORT_TESTS = {"03_table_search", "07_optimise_a_function", *WRITES_NOTHING}
SLOW = set(EXPECTED) - SHORT_TESTS  # the others are whole searches on images
LONGEST_LINES = 60
SIX_SCRIPTS = range(6, 12)  # numbers of those that show the API from Python, in as few lines as it takes
LONGEST_SCRIPT_LINES = 15


@pytest.mark.parametrize("planned", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_the_search_in_a_file_runs(planned: bool, tmp_path: Path) -> None:
    words = ["--dry-run"] if planned else ["--out", "run"]
    command = [sys.executable, "-m", "supernetic.cli", "search", str(EXAMPLES / "search.toml"), *words, "--quiet"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=tmp_path, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    assert (done.returncode, done.stderr) == (0, "")
    if planned:
        assert "train the supernet: 40 steps" in done.stdout
        assert not list(tmp_path.iterdir())
    else:
        assert "Take model-1: " in done.stdout
        assert tomllib.loads((tmp_path / "run/run.toml").read_text())["searcher"]["name"] == "MCEA"


def test_all_examples_are_numbered_short_and_tested() -> None:
    files = sorted(EXAMPLES.glob("*.py"))
    assert [f.stem for f in files] == sorted(EXPECTED)
    assert [int(f.stem[:2]) for f in files] == list(range(1, len(files) + 1))
    for file in files:
        longest = LONGEST_SCRIPT_LINES if int(file.stem[:2]) in SIX_SCRIPTS else LONGEST_LINES
        assert sum(bool(line.strip()) for line in file.read_text().splitlines()) <= longest, file


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in EXPECTED])
def test_an_example_does_what_it_says(name: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    if name.startswith("05"):
        pytest.importorskip("onnxruntime")
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py")],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1", "SUPERNETIC_CACHE": str(tmp_path_factory.mktemp("cache"))},
    )
    assert done.returncode == 0, done.stderr
    assert "DIFFERENT" not in done.stdout
    at = 0
    for pattern in EXPECTED[name]:
        found = re.compile(pattern).search(done.stdout, at)
        assert found, f"{pattern!r} is not in what follows:\n{done.stdout[at:]}"
        at = found.start()
    assert [p.name for p in tmp_path.iterdir()] == ([] if name in WRITES_NOTHING else ["runs"])
