from collections.abc import Callable
from copy import deepcopy

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from supernetic import catalog
from supernetic.blueprint import Blueprint
from supernetic.costs.macs import cost
from supernetic.errors import InputError
from supernetic.families.dense import MLP
from supernetic.nn.network import Network, build, with_classes
from supernetic.nn.run import Regularisation
from supernetic.space import Space


@pytest.mark.parametrize("name", catalog.SPACES)
def test_networks_cost_what_their_blueprints_say(name: str, small: Callable[[str], Space]) -> None:
    space = small(name)
    archs = [tuple(a) for a in space.sample(np.random.default_rng(0), 3).tolist()]
    for arch in archs if name != "efficientnet" else [(0,), (6,)]:
        blueprint = space.blueprint(arch)
        network = build(blueprint, seed=0).eval()
        x = torch.randn(2, blueprint.in_channels, blueprint.resolution, blueprint.resolution)
        with FlopCounterMode(display=False) as counter:
            logits = network(x[:1])
        own = cost(blueprint)
        assert counter.get_total_flops() == 2 * own.macs
        assert sum(p.numel() for p in network.parameters()) == own.params
        assert logits.shape == (1, blueprint.classes)
        shapes = [(layer.c_out, layer.resolution_out) for layer in blueprint if layer.kind != "linear"]
        assert [(t.shape[1], t.shape[-1]) for layer, t in network.trace(x) if layer.kind != "linear"] == shapes


def macro() -> Network:
    space = catalog.space("macro:channels=8,resolution=16,head=32")
    return build(space.blueprint((2, 1, 0, 1, 0, 1, 2, 0)), seed=3)


def test_a_seed_gives_the_same_weights_and_leaves_torch_alone() -> None:
    torch.manual_seed(0)
    one, between, two = macro(), torch.rand(1), macro()
    torch.manual_seed(0)
    assert torch.equal(between, torch.rand(1))
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), two.parameters(), strict=True))


def test_weights_are_found_by_layer_and_role() -> None:
    network = macro()
    names = set(network.state_dict())
    assert {"stem.conv.op.weight", "layer0.expand.norm.running_mean", "classifier.linear.op.bias"} <= names
    layer = next(x for x in network.blueprint if x.name == "layer1")
    assert network.units(layer)["depthwise"] is network.get_submodule("layer1.depthwise")


def test_saved_and_copied_networks_are_the_same_network() -> None:
    network = macro().eval()
    x = torch.randn(2, 3, 16, 16)
    expected = network(x)
    loaded = Network(network.blueprint).eval()
    loaded.load_state_dict(network.state_dict())
    assert torch.equal(loaded(x), expected)
    copied = deepcopy(network)
    with torch.no_grad():
        copied.get_submodule("stem.conv.op").weight.zero_()  # type: ignore[operator]
    assert torch.equal(network(x), expected)
    assert not torch.equal(copied(x), expected)


def test_all_weights_get_gradients() -> None:
    network = macro()
    network(torch.randn(4, 3, 16, 16)).square().sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in network.parameters())


def test_noise_only_where_asked_for() -> None:
    network = macro().eval()
    x = torch.randn(8, 3, 16, 16)
    assert torch.equal(network(x), network(x))
    assert not torch.equal(network(x, Regularisation(dropout=0.5)), network(x))


def test_channels_last_computes_the_same() -> None:
    network = macro().eval()
    x = torch.randn(4, 3, 16, 16)
    expected = network(x)
    network = network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    got = network(x.contiguous(memory_format=torch.channels_last))
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-5)


def test_a_network_that_only_counts_is_refused() -> None:
    space = catalog.space("scalenet-base:spatial=floor,resolution=30,width=0.25")
    with pytest.raises(InputError, match="rounds up"):
        build(space.blueprint((0,) * len(space.choices)))


# --- in other hands ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", catalog.SPACES)
def test_features_are_what_the_pooling_reads(name: str, small: Callable[[str], Space]) -> None:
    space = small(name)
    network = build(space.blueprint(tuple(space.sample(np.random.default_rng(0), 1)[0].tolist())), seed=0).eval()
    blueprint = network.blueprint
    x = torch.randn(2, blueprint.in_channels, blueprint.resolution, blueprint.resolution)
    with torch.no_grad():
        features = network.forward_features(x)
        outputs = {layer.name: y.clone() for layer, y in network.trace(x)}
    assert features.shape[:2] == (2, network.num_features)
    assert torch.equal(features.mean((2, 3), keepdim=True), outputs["head.pool"])


def test_features_without_pooling_are_what_the_classifier_reads() -> None:
    network = build(MLP(width=12, depth=2).network(4, 1, 6), seed=0).eval()
    features = network.forward_features(x := torch.randn(3, 1, 6, 6))
    assert features.shape == (3, network.num_features) == (3, 12)
    classifier = network.get_submodule("classifier.linear")
    assert torch.equal(classifier(features), network(x))


def test_a_new_classifier_changes_nothing_else() -> None:
    network = macro().double().eval()
    before = {n: t.clone() for n, t in network.state_dict().items()}
    features = network.forward_features(x := torch.randn(2, 3, 16, 16).double())
    network.reset_classifier(3, seed=0)
    assert network(x).shape == (2, 3)
    assert torch.equal(network.forward_features(x), features)
    changed = {n for n, t in network.state_dict().items() if not torch.equal(before[n], t)}
    assert changed == {"classifier.linear.op.weight", "classifier.linear.op.bias"}
    assert before.keys() == network.state_dict().keys()
    assert {p.dtype for p in network.parameters()} == {torch.float64}
    assert not any(m.training for m in network.modules())
    assert cost(network.blueprint).params == sum(p.numel() for p in network.parameters())
    assert network.blueprint.classes == 3
    assert 0 < float(network.get_parameter("classifier.linear.op.weight").detach().std()) < 0.1
    twin = Network(network.blueprint)
    twin.load_state_dict(network.state_dict())
    with pytest.raises(InputError, match="classes must be at least 1, got 0"):
        network.reset_classifier(0)
    with pytest.raises(InputError, match="it ends with stem"):
        with_classes(Blueprint(network.blueprint.layers[:1]), 3)


def test_a_new_classifier_learns() -> None:
    network = macro()
    network.reset_classifier(2, seed=0)
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(16) % 2
    x = torch.randn(16, 3, 16, 16, generator=generator) + labels[:, None, None, None]
    optimiser = torch.optim.SGD(network.parameters(), 0.1)
    losses = []
    for _ in range(20):
        optimiser.zero_grad()
        loss = torch.nn.functional.cross_entropy(network(x), labels)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.5 * losses[0]


def test_bn_may_keep_its_statistics_in_training() -> None:
    network = macro().train()
    x = torch.randn(8, 3, 16, 16, generator=torch.Generator().manual_seed(0))
    network(x)
    network.fix_statistics()
    assert network.training
    before = {n: b.clone() for n, b in network.named_buffers()}
    logits = network.train()(x)
    logits.sum().backward()
    assert all(torch.equal(before[n], b) for n, b in network.named_buffers())
    assert torch.allclose(logits, network.eval()(x), atol=1e-6)
    assert all(p.grad is not None for n, p in network.named_parameters() if n.endswith("norm.weight"))
