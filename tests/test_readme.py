"""What the README shows is what the commands print."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
REPRODUCED = README.parent / "docs/findings/reproduction.md"  # published numbers, with the file of each method
BLOCKS: list[tuple[str, str]] = re.findall(r"```console\n\$ (.*?)\n(.*?)```", README.read_text(), re.S)


@pytest.mark.parametrize(("command", "output"), BLOCKS, ids=[c.split()[1] for c, _ in BLOCKS])
def test_examples_are_real(command: str, output: str, tmp_path: Path) -> None:
    name, *arguments = shlex.split(command)
    assert name == "supernetic"
    done = subprocess.run(
        [sys.executable, "-m", "supernetic.cli", *arguments],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "120"},
    )
    assert done.stdout.rstrip() == output.rstrip()


def test_it_is_short_and_begins_with_what_one_can_do() -> None:
    lines = README.read_text().splitlines()
    assert len(lines) <= 120
    assert len(BLOCKS) == 1
    for early in ("```console", "```python"):
        assert lines.index(early) < 45
    assert 1 <= sum(line.startswith("![") for line in lines) <= 3


def test_every_link_leads_somewhere() -> None:
    targets = re.findall(r"\]\((?!http)([^)#]+)\)", README.read_text())
    files = re.findall(r"\| `([\w/]+\.py)` \|", REPRODUCED.read_text())
    assert min(len(targets), len(files)) > 5
    for target in targets:
        assert (README.parent / target).exists(), target
    for file in files:
        assert (README.parent / "src/supernetic" / file).exists(), file
