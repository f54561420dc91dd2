import re
from pathlib import Path
from typing import get_args

import numpy as np

import supernetic
from supernetic.arrays import Bools, Floats, Ints

PACKAGE = Path(supernetic.__file__).parent
ROOMS = ("evaluators", "families", "lab", "parallel", "proxies", "selection", "timing")


def test_each_type_holds_the_kind_of_number_that_its_name_says() -> None:
    kinds = {Floats: np.float64, Ints: np.int64, Bools: np.bool_}
    for array, kind in kinds.items():
        assert get_args(get_args(array)[1]) == (kind,)


def test_rooms_take_these_types_from_here() -> None:
    own = re.compile(r"^(Floats|Ints|Bools) = ", re.M)
    assert not [p for room in ROOMS for p in (PACKAGE / room).rglob("*.py") if own.search(p.read_text())]
