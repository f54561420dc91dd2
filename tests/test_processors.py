"""A whole search on processors other than this one: torch and oneDNN are told to do without newer instructions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

PROCESSORS = {
    "avx2": {"ONEDNN_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2"},
    "default": {"ONEDNN_MAX_CPU_ISA": "SSE41", "ATEN_CPU_CAPABILITY": "default"},
}
# The space is chosen for the budget: its narrowest networks have four channels.
SEARCH = (
    "search embedded --where macs<=200K --steps 8 --network-steps 6 --population 4 --generations 1 --keep 2 "
    "--limit 600 --workers 2 --threads 1 --out run"
)


@pytest.mark.slow
@pytest.mark.parametrize("processor", PROCESSORS)
def test_a_search_from_images_to_models(processor: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "supernetic.cli", *SEARCH.split()],
        capture_output=True, text=True, check=False, cwd=tmp_path, env={**os.environ, **PROCESSORS[processor]},
    )  # fmt: skip
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stderr[-2000:]}"
    networks = json.loads((tmp_path / "run" / "networks.json").read_text())
    assert networks[0]["name"] == "model-1"
    assert networks[0]["recommended"]
    assert all(0 <= n["test"]["test/accuracy"] <= 100 for n in networks)
    assert (tmp_path / "run" / "models" / "model-1" / "model.safetensors").exists()
    space = tomllib.loads((tmp_path / "run" / "run.toml").read_text())["space"]
    assert (space["name"], space["settings"]["channels"]) == ("macro", 4)
