"""Weights & Biases, by its own settings: `WANDB_MODE=offline` keeps everything here, `wandb sync` uploads it later.

Files go to `wandb/` beside the run, or to `WANDB_DIR`. They are not inside the run, because they contain links, which a
run must not.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from secrets import token_hex
from typing import Any

from ..errors import InputError
from .tracker import Row, shared_folder

PROJECT = "supernetic"  # unless WANDB_PROJECT names another
IDENTIFIER = re.compile(r"[0-9a-z]{8,32}")


class WeightsAndBiases:
    """One run of W&B for each job; trainings are sections of its page."""

    name = "wandb"

    def begin(self, run: Path, settings: Mapping[str, Any], earlier: str) -> str:
        """Start a run, or go on with an earlier one."""
        import wandb

        folder, title = shared_folder(run)
        own = earlier if IDENTIFIER.fullmatch(earlier) else token_hex(4)
        try:
            self.run: Any = wandb.init(
                id=own,
                resume="allow",
                name=title,
                project=os.environ.get("WANDB_PROJECT", PROJECT),
                dir=os.environ.get("WANDB_DIR", str(folder)),
                config=dict(settings),
                settings=wandb.Settings(silent=True, console="off"),
            )
        except wandb.Error as error:
            reason = str(error).splitlines()[0]
            raise InputError(f"Weights & Biases cannot start: {reason}; WANDB_MODE=offline needs no account") from None
        self.known: set[str] = set()
        return own

    def log(self, source: str, rows: Sequence[Row]) -> None:
        """Every training has steps of its own."""
        axis = f"{source}/step"
        if source not in self.known:
            self.run.define_metric(axis, hidden=True)
            self.run.define_metric(f"{source}/*", step_metric=axis)
            self.known.add(source)
        for row in rows:
            self.run.log({axis: row.step, **{f"{source}/{name}": value for name, value in row.values.items()}})

    def finish(self, results: Mapping[str, float]) -> None:
        """The final numbers, as the summary of the run."""
        self.run.summary.update(dict(results))

    def close(self) -> None:
        """Write out everything."""
        self.run.finish()
