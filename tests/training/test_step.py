"""A loop of one's own ends with the very weights of `fit`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from supernetic import catalog
from supernetic.errors import InputError, UnknownNameError
from supernetic.nn.strided import in_layout
from supernetic.samplers.attentive import Attentive
from supernetic.samplers.budgeted import Budgeted
from supernetic.samplers.guided import Guided
from supernetic.samplers.sandwich import Sandwich
from supernetic.samplers.step import Draw, SampledPath, Sampler, Step, batches_per_step
from supernetic.samplers.strict_fair import StrictFair
from supernetic.samplers.uniform import Uniform
from supernetic.space import Space
from supernetic.supernets.supernet import Supernet
from supernetic.training.loop import fit
from supernetic.training.loss import label_loss
from supernetic.training.recipe import Recipe
from supernetic.training.step import backward, batch_score, check_batch

MACRO = "macro:channels=4,resolution=8,head=8"
TWO_SIDED = "scalenet:resolution=16,width=0.1,released=true,classes=10"
RECIPE = Recipe(
    lr=0.05, momentum=0.9, schedule="constant", length="3 steps", label_smoothing=0.1, dropout=0.3, drop_connect=0.2
)
Make = Callable[..., Any]


@dataclass(frozen=True)
class ByUse:
    """Three paths; two of them share the first option of a layer."""

    def __call__(self, space: Space, draw: Draw) -> Step:
        archs = [(1, option, 1, 1, 1, 1, 1, 1) for option in (1, 1, 2)]
        return Step(tuple(SampledPath(a, weight=w) for a, w in zip(archs, (1, 2, 3), strict=True)), average_by_use=True)


def by_hand(text: str, source: Any, sampler: Sampler, recipe: Recipe) -> Supernet:
    """The loop that a user would write."""
    supernet = Supernet(catalog.space(text), seed=0)
    supernet.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    optimiser = torch.optim.SGD(supernet.parameters(), recipe.lr, recipe.momentum)
    per_step = batches_per_step(sampler, supernet.space)
    for index in range(3):
        torch.manual_seed(int(np.random.SeedSequence([0, index, 0]).generate_state(1)[0]))
        batches = [source.batch(index * per_step + k) for k in range(per_step)]
        batches = [(in_layout(x, torch.channels_last), labels) for x, labels in batches]
        score = batch_score(supernet, batches[0], label_smoothing=recipe.label_smoothing)
        step = sampler(supernet.space, Draw(np.random.default_rng([0, index]), index, score))
        optimiser.zero_grad()
        backward(
            supernet,
            batches if step.fresh_batch else batches[0],
            step,
            label_smoothing=recipe.label_smoothing,
            dropout=recipe.dropout,
            drop_connect=recipe.drop_connect,
            slice_sides=recipe.slice_sides,
            index=index,
        )
        optimiser.step()
    return supernet


def assert_loops_agree(text: str, source: Any, sampler: Sampler, recipe: Recipe) -> None:
    fitted = Supernet(catalog.space(text), seed=0)
    start = {n: t.clone() for n, t in fitted.state_dict().items()}
    list(fit(fitted, source, sampler, recipe))
    own = by_hand(text, source, sampler, recipe).state_dict()
    assert not all(torch.equal(t, start[n]) for n, t in own.items())
    for name, tensor in fitted.state_dict().items():
        assert torch.equal(tensor, own[name]), name


@pytest.mark.parametrize(
    "sampler",
    [
        Uniform(),
        StrictFair(),
        StrictFair(fresh_batch=True, reduction="sum"),
        Sandwich(),
        Attentive(k=3, rows=100),
        Sandwich(1, Attentive(k=3, rows=100)),
        Guided(StrictFair()),
        Budgeted(("macs<=60K",)),
        ByUse(),
    ],
    ids=lambda s: repr(s)[:40],
)
def test_a_loop_of_ones_own_ends_with_the_weights_of_fit(sampler: Sampler, noise_batches: Make) -> None:
    assert_loops_agree(MACRO, noise_batches(), sampler, RECIPE)


@pytest.mark.parametrize("slice_sides", ["alternate", "both"])
@pytest.mark.parametrize("sampler", [Uniform(), Sandwich(0)], ids=["uniform", "sandwich"])
def test_both_slice_sides(sampler: Sampler, slice_sides: Any, noise_batches: Make) -> None:
    assert_loops_agree(TWO_SIDED, noise_batches(resolution=16), sampler, replace(RECIPE, slice_sides=slice_sides))


def small() -> tuple[Supernet, tuple[Tensor, Tensor]]:
    generator = torch.Generator().manual_seed(0)
    supernet = Supernet(catalog.space(MACRO), seed=0).double()
    return supernet, (torch.randn(4, 3, 8, 8, generator=generator).double(), torch.arange(4))


def gradients(supernet: Supernet) -> dict[str, Tensor]:
    return {n: p.grad.clone() for n, p in supernet.named_parameters() if p.grad is not None}


def test_the_loss_is_the_mean_and_the_mode_is_training() -> None:
    supernet, batch = small()
    paths = tuple(SampledPath((option,) * 8) for option in (1, 2))
    loss = backward(supernet.eval(), batch, Step(paths))
    assert supernet.training
    assert not loss.requires_grad
    expected = torch.stack([label_loss(supernet(batch[0], p.arch), batch[1]) for p in paths]).mean()
    assert float(loss) == pytest.approx(float(expected.detach()), rel=1e-9)


def test_weights_that_no_path_uses_have_no_gradient() -> None:
    supernet, batch = small()
    backward(supernet, list(batch), Step((SampledPath((1,) * 8),)))  # a DataLoader gives lists
    used = {n.split(".")[1] for n in gradients(supernet) if n.startswith("layer")}
    assert used == {"MB3_K3"}


@pytest.mark.parametrize("by_use", [False, True])
def test_gradients_add_up_over_calls(by_use: bool) -> None:
    supernet, (images, labels) = small()
    step = ByUse()(supernet.space, Draw(np.random.default_rng(0)))._replace(average_by_use=by_use)
    parts = []
    for half in (slice(0, 2), slice(2, 4)):
        supernet.zero_grad()
        backward(supernet, (images[half], labels[half]), step)
        parts.append(gradients(supernet))
    supernet.zero_grad()
    for half in (slice(0, 2), slice(2, 4)):
        backward(supernet, (images[half], labels[half]), step)
    for name, grad in gradients(supernet).items():
        torch.testing.assert_close(grad, parts[0][name] + parts[1][name], rtol=1e-9, atol=1e-12, msg=name)


def test_scoring_a_batch_changes_nothing() -> None:
    supernet, batch = small()
    before = {n: t.clone() for n, t in supernet.state_dict().items()}
    first, second = batch_score(supernet, batch)([(1,) * 8, (2,) * 8])
    assert all(torch.equal(before[n], t) for n, t in supernet.state_dict().items())
    supernet.train()
    expected = [-float(label_loss(supernet(batch[0], (g,) * 8), batch[1]).detach()) for g in (1, 2)]
    assert [first, second] == pytest.approx(expected, rel=1e-9)


def test_refusals() -> None:
    supernet, batch = small()
    one, three = Step((SampledPath((1,) * 8),)), ByUse()(supernet.space, Draw(np.random.default_rng(0)))
    with pytest.raises(InputError, match="takes 3 batches, one for each path, got a single one"):
        backward(supernet, batch, three._replace(fresh_batch=True))
    with pytest.raises(InputError, match="takes 3 batches, one for each path, got 2"):
        backward(supernet, [batch, batch], three._replace(fresh_batch=True))
    with pytest.raises(InputError, match=r"a batch must be .images, labels., two tensors, got a list of 3"):
        backward(supernet, [batch, batch, batch], one)
    with pytest.raises(InputError, match="must follow one that learns from labels"):
        backward(supernet, batch, Step((SampledPath((1,) * 8, "teacher"),)))
    with pytest.raises(UnknownNameError, match="order of slice sides 'left'"):
        backward(supernet, batch, one, slice_sides="left")  # type: ignore[arg-type]
    two_sided = Supernet(catalog.space(TWO_SIDED), seed=0)
    step = Uniform()(two_sided.space, Draw(np.random.default_rng(0)))
    with pytest.raises(InputError, match="slice sides in turn: pass index=, the number of the step"):
        backward(two_sided, (torch.zeros(2, 3, 16, 16), torch.zeros(2, dtype=torch.long)), step)
    with pytest.raises(InputError, match="macro takes images of 8 x 8 pixels, got 8 x 9"):
        check_batch(supernet, (torch.zeros(2, 3, 8, 9), torch.zeros(2)))
