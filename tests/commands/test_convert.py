"""`convert`; its weights are compared in tests/pretrained/test_attentive.py."""

from pathlib import Path

import pytest

from supernetic.commands.convert import convert
from supernetic.errors import InputError


def test_a_file_that_is_not_there_leaves_no_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        convert("attentive", tmp_path / "none.pth", out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
