"""What every experiment writes: one TOML per published number or claim, beside the script that computed it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import process_time
from typing import Any

import tomli_w

HERE = Path(__file__).parent


@dataclass
class Record:
    """One claim and what became of it."""

    name: str  # of the file
    claim: str
    source: str
    expected: Any
    obtained: Any
    n: int
    held: bool
    sentence: str
    interval: Any = field(default_factory=list)  # 95 %, of the first number obtained
    spread: str = ""  # what the spread in `obtained` is, where there are seeds
    seeds: list[int] = field(default_factory=list)
    scale: str = ""
    cpu_minutes: float = 0.0

    def write(self) -> None:
        """Save, whole or not at all."""
        content = {k: v for k, v in asdict(self).items() if k != "name" and v not in ("", [])}
        path = HERE / f"{self.name}.toml"
        temporary = path.with_suffix(".tmp")
        temporary.write_text(tomli_w.dumps(content), encoding="utf-8")
        os.replace(temporary, path)
        print(f"{path.name}: {'held' if self.held else 'did not hold'}. {self.sentence}")


def write_all(jobs: Mapping[str, Callable[[], Record]]) -> None:
    """The record of every job, or of those that the command line names, with the CPU-minutes that it took."""
    for name in sys.argv[1:] or jobs:
        start = process_time()
        record = jobs[name]()
        record.cpu_minutes = round((process_time() - start) / 60, 2)
        record.write()
