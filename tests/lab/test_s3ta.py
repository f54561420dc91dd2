import pytest

from supernetic.errors import InputError
from supernetic.lab.s3ta import S3TA


def test_the_full_size_is_the_papers() -> None:
    assert (S3TA().steps, S3TA().depth) == (8, 101)


def test_the_plan_is_what_is_built() -> None:
    plan = S3TA(steps=3, depth=8, width=0.25, halvings=2, heads=2, state=6).network(5, 1, 16)
    network = plan.build()
    assert (network.steps, network.heads, network.controller.hidden_size) == (3, 2, 6)
    assert network.extractor.blueprint.layers[-1].resolution_out == 4
    assert network.readout.out_features == 5


def test_every_step_costs_the_same() -> None:
    macs = [S3TA(steps=t, depth=8, width=0.25, heads=2, state=6).network(5, 1, 8).costs()[0] for t in (1, 2, 4)]
    assert macs[2] - macs[1] == 2 * (macs[1] - macs[0])
    places, keys, values, basis, state = 16, 8, 8, 16, 6
    asked, told = 2 * (keys + basis), 2 * (values + basis)
    attention = places * (asked + told)
    assert macs[1] - macs[0] == state**2 + state * asked + attention + (asked + told) * state + 8 * state**2


def test_other_depths_are_refused() -> None:
    with pytest.raises(InputError, match="got 9"):
        S3TA(depth=9)
