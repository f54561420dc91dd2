from __future__ import annotations

from pathlib import Path

from supernetic import catalog
from supernetic.reports.run_space import space_in


def test_a_space_by_name_is_found_while_it_is_what_it_was(tmp_path: Path) -> None:
    """Spaces by text, and those that are code, are tested with the command `report`."""
    space = catalog.space("macro")
    table = '[space]\nname = "macro"\nfingerprint = "{}"\n'
    (tmp_path / "run.toml").write_text(table.format(space.fingerprint))
    assert space_in(tmp_path) == (space, ())
    (tmp_path / "run.toml").write_text(table.format("other"))
    assert space_in(tmp_path) == (None, ())
