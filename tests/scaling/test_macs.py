import numpy as np
import pytest

from supernetic import catalog
from supernetic.costs import cost
from supernetic.errors import InputError
from supernetic.scaling.macs import blueprints_of, require_chains, scaled_macs
from supernetic.strategy import Scaling, scale

SCALINGS = (
    Scaling(),
    Scaling(1.08, 1.04, 40),
    Scaling(1.12, 1.04, 40),
    Scaling(1.48, 1.4, 1.58),
    Scaling(1.8, 1.4, 1.3, "efficientnet"),
    Scaling(2.0, 1.2, 1.3, "repeat", "floor"),
)


@pytest.mark.parametrize("name", ["scalenet-base:resolution=32", "scarlet-s1", "macro", "attentive:resolutions=64"])
def test_equals_the_cost_of_the_scaled_blueprint(name: str) -> None:
    space = catalog.space(name)
    networks = blueprints_of(space, space.sample(np.random.default_rng(0), 4))
    expected = [[cost(scale(network, s)).macs for s in SCALINGS] for network in networks]
    assert scaled_macs(networks, SCALINGS).tolist() == expected
    assert scaled_macs([], SCALINGS).shape == (0, len(SCALINGS))


def test_cells_are_refused() -> None:
    with pytest.raises(InputError, match="nasbench201 cannot be scaled: only chains of blocks"):
        require_chains(catalog.space("nasbench201"))
    require_chains(catalog.space("macro"))
