import pickle

import torch

from supernetic.blueprint import Blueprint, Layer
from supernetic.costs.macs import cost
from supernetic.families import CandidateModel
from supernetic.families.candidate_model import scaled
from supernetic.lab.s3ta import S3TA

BLUEPRINT = Blueprint((Layer("flatten", "flatten", 1, 16, 4, 1), Layer("classifier", "linear", 16, 3, 1, 1)))
PLAIN = S3TA(steps=2, depth=8, width=0.25, heads=1, state=8).network(3, 1, 8)


def test_a_blueprint_and_a_module_are_used_alike() -> None:
    for network, resolution in ((BLUEPRINT, 4), (PLAIN, 8)):
        made = pickle.loads(pickle.dumps(CandidateModel("mine", network)))
        assert made.resolution == resolution
        built = made.build(seed=3)
        assert built(torch.zeros(2, 1, resolution, resolution)).shape == (2, 3)
        assert made.costs()[1] == sum(p.numel() for p in built.parameters())
        weights, again, other = ([*network.parameters()] for network in (built, made.build(seed=3), made.build(seed=4)))
        assert all(torch.equal(a, b) for a, b in zip(weights, again, strict=True))
        assert not all(torch.equal(a, b) for a, b in zip(weights, other, strict=True))
    assert CandidateModel("mine", BLUEPRINT).blueprint is BLUEPRINT
    assert CandidateModel("mine", BLUEPRINT).costs() == (cost(BLUEPRINT).macs, cost(BLUEPRINT).params)
    assert CandidateModel("mine", PLAIN).blueprint is None


def test_the_fingerprint_is_the_networks() -> None:
    wider = Blueprint((BLUEPRINT.layers[0], BLUEPRINT.layers[1]._replace(c_out=4)))
    assert CandidateModel("a", BLUEPRINT).fingerprint == CandidateModel("b", BLUEPRINT).fingerprint
    assert len({CandidateModel("a", n).fingerprint for n in (BLUEPRINT, wider, PLAIN)}) == 3


def test_channels_are_never_gone() -> None:
    assert [scaled(64, w) for w in (0.001, 0.25, 1, 1.5)] == [1, 16, 64, 96]
