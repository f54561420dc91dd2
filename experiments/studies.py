"""Keeps what a study found: `python experiments/studies.py runs/studies/002-fig4 ...`.

Writes `study_NAME.toml` with every claim, and the tables beside it in `studies/NAME/`.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from record import HERE, Record

TABLES = ("summary.csv", "claims.csv")
CLAIM_FIELDS = ("text", "verdict", "value", "low", "high")  # of each claim


def keep(run: Path) -> None:
    """One finished study."""
    study: dict[str, Any] = json.loads((run / "study.json").read_text())
    claims = study["claims"]
    verdicts = [c["verdict"] for c in claims]
    shown = [m for m in study["shown"] if any(m in v for v in study["table"].values())]
    numbers = {
        variant: {m: [round(x, 3) for x in (values[m]["mean"], values[m]["sd"]) if x is not None] for m in shown
                  if m in values}
        for variant, values in study["table"].items()
    }  # fmt: skip
    Record(
        f"study_{run.name}",
        "; ".join(c["text"] for c in claims),
        study["source"],
        "every claim holds",
        {
            "claims": [{k: c[k] for k in CLAIM_FIELDS if c[k] is not None} for c in claims],  # one seed: no interval
            "numbers": numbers,
        },
        n=study["trainings"],
        held=set(verdicts) == {"held"},
        sentence=" ".join(f"{c['text']}: {c['sentence']}." for c in claims),
        spread="mean and standard deviation over seeds",
        seeds=study["seeds"],
        scale=study["scale"],
        cpu_minutes=study["cpu_minutes"],
    ).write()
    folder = HERE / "studies" / run.name
    folder.mkdir(parents=True, exist_ok=True)
    for name in TABLES:
        shutil.copyfile(run / name, folder / name)


if __name__ == "__main__":
    for path in sys.argv[1:]:
        keep(Path(path))
