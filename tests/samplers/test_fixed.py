import numpy as np
import pytest

from supernetic import catalog
from supernetic.errors import UnknownNameError
from supernetic.samplers.fixed import Fixed, choice_index
from supernetic.samplers.step import Draw

CELLS = catalog.space("nasbench201")


def test_all_paths_have_the_option_and_the_rest_stays_fair() -> None:
    step = Fixed(CELLS.choices[2].name, "skip_connect")(CELLS, Draw(np.random.default_rng(0)))
    archs = np.array([p.arch for p in step.paths])
    assert set(archs[:, 2]) == {1}
    for i in (0, 1, 3, 4, 5):
        assert sorted(archs[:, i]) == [0, 1, 2, 3, 4]


def test_names_are_checked() -> None:
    assert choice_index(CELLS, "", "") == (0, 0)
    with pytest.raises(UnknownNameError, match="choice of nasbench201"):
        choice_index(CELLS, "edge", "none")
    with pytest.raises(UnknownNameError, match="did you mean 'skip_connect'"):
        choice_index(CELLS, "", "skip_conect")
