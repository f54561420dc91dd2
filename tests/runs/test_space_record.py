from __future__ import annotations

from pathlib import Path

import pytest

from supernetic import catalog
from supernetic.errors import RunError
from supernetic.runs.directory import open_run, read_settings
from supernetic.runs.space_record import space_of, space_record
from supernetic.space import Space
from supernetic.spaces.macro import Macro
from supernetic.spaces.scaled import Strategies

LISTS = Strategies(((1.0,), (1.1, 1.5)), ((32,), (34, 36)), rule="efficientnet")


@pytest.mark.parametrize(
    "space",
    [Macro(channels=4), catalog.space("deep-narrow"), Macro(channels=4) * LISTS, catalog.space("deep-narrow") * LISTS],
    ids=["named", "declared", "scaled", "declared and scaled"],
)
def test_a_space_is_made_again_from_a_runs_settings(space: Space, tmp_path: Path) -> None:
    with open_run(tmp_path / "run", {"space": space_record(space, space)}):
        pass
    assert space_of(tmp_path / "run", read_settings(tmp_path / "run")) == space


def test_a_space_that_has_changed_since_is_refused(tmp_path: Path) -> None:
    record = space_record("macro:channels=4", Macro(channels=4))
    with pytest.raises(RunError, match="was trained on another macro than macro:channels=4 is now"):
        space_of(tmp_path, {"space": {**record, "settings": {**record["settings"], "channels": 8}}})
