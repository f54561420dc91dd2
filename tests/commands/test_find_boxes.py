"""What `predict` says of boxes. That a trained detector finds them is tested with the job."""

from pathlib import Path

import pytest

from supernetic.commands.find_boxes import FoundBox, FoundBoxes, ImageBoxes, find_boxes
from supernetic.errors import DataError, InputError


def test_lines_count_classes_and_name_the_surest_boxes() -> None:
    boxes = tuple(FoundBox("disc", 0.9, (i, 2.0, 30.0, 40.0)) for i in range(7))
    found = FoundBoxes("d", "torch", 0.3, (ImageBoxes("a\nb.png", boxes), ImageBoxes("c.png", ())))
    first, second = found.lines()
    assert first.startswith("a?b.png  7 disc: disc 90% at 0,2,30,40; ")
    assert first.endswith("and 1 more")
    assert second == "c.png  nothing"


def test_what_cannot_be_done(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="engine of a detector 'int8'"):
        find_boxes(tmp_path, ["a.png"], engine="int8")
    with pytest.raises(InputError, match="top must be 1 or more, got 0"):
        find_boxes(tmp_path, ["a.png"], top=0)
    with pytest.raises(DataError, match=r"a\.png does not exist"):
        find_boxes(tmp_path, [tmp_path / "a.png"], engine="torch")
    with pytest.raises(DataError, match="holds no image"):
        find_boxes(tmp_path, [tmp_path], engine="torch")
    with pytest.raises(InputError, match="needs an image"):
        find_boxes(tmp_path, [], engine="torch")
