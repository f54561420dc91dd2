"""Optimisers from recipes, and averaged weights.

Never fused: torch's fused SGD crashes on parameters without gradients, and most of a supernet has none at a step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.optim import SGD, Adam, Optimizer
from torch.optim.swa_utils import get_ema_multi_avg_fn

from .recipe import Recipe

SHARED_LAYERS = {"stem", "head", "classifier"}  # names of the layers that every network has


class RMSProp(Optimizer):
    """RMSProp as TensorFlow has it, which NAS-Bench-101 and the EfficientNet-like recipes were tuned for.

    Unlike torch's, eps is inside the root, squares start at 1, and the learning rate enters the momentum buffer.
    """

    def __init__(self, params: Any, lr: float, smoothing: float, momentum: float, eps: float) -> None:
        super().__init__(
            params, {"lr": lr, "smoothing": smoothing, "momentum": momentum, "eps": eps, "weight_decay": 0.0}
        )

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """One update."""
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["square"], state["buffer"] = torch.ones_like(p), torch.zeros_like(p)
                grad = p.grad.add(p, alpha=group["weight_decay"])
                state["square"].mul_(group["smoothing"]).addcmul_(grad, grad, value=1 - group["smoothing"])
                step = grad / (state["square"] + group["eps"]).sqrt_()
                state["buffer"].mul_(group["momentum"]).add_(step, alpha=group["lr"])
                p.sub_(state["buffer"])


class Optimisers(NamedTuple):
    """Those that update after every path, and those that update once per step."""

    path: tuple[Optimizer, ...]
    step: tuple[Optimizer, ...]


def optimisers(model: nn.Module, recipe: Recipe) -> Optimisers:
    """One optimiser; two, where stem and head are updated after every path.

    Args:
        model: The supernet or network.
        recipe: How to train.

    Returns:
        The optimisers by when they update.
    """
    named = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    shared = _groups((p for n, p in named if is_shared(n)), recipe, recipe.shared_lr)
    own = _groups((p for n, p in named if not is_shared(n)), recipe, 1.0)
    if recipe.shared_update == "step":
        return Optimisers((), (_make(recipe, [*shared, *own]),))
    return Optimisers(*((_make(recipe, groups),) if groups else () for groups in (shared, own)))


def is_shared(name: str) -> bool:
    """Whether a parameter belongs to the stem or the head."""
    return not SHARED_LAYERS.isdisjoint(name.split("."))


def _groups(parameters: Iterable[nn.Parameter], recipe: Recipe, factor: float) -> list[dict[str, Any]]:
    """Weights that decay, and BN weights and biases, which do so only if the recipe says."""
    split: dict[bool, list[nn.Parameter]] = {True: [], False: []}
    for p in parameters:
        split[recipe.decay_all or p.ndim > 1].append(p)
    return [
        {"params": params, "weight_decay": recipe.weight_decay * decays, "factor": factor}
        for decays, params in split.items()
        if params
    ]


def _make(recipe: Recipe, groups: list[dict[str, Any]]) -> Optimizer:
    makers: dict[str, Callable[[], Optimizer]] = {
        "sgd": lambda: SGD(groups, recipe.lr, recipe.momentum, nesterov=recipe.nesterov, fused=False),
        "rmsprop": lambda: RMSProp(groups, recipe.lr, recipe.smoothing, recipe.momentum, recipe.eps),
        "adam": lambda: Adam(groups, recipe.lr, (recipe.momentum, recipe.smoothing), recipe.eps, fused=False),
    }
    return makers[recipe.optimiser]()


def set_lr(optimisers: Iterable[Optimizer], lr: float) -> None:
    """Set the learning rate of all groups.

    Args:
        optimisers: Those of `optimisers`.
        lr: The learning rate; each group multiplies it by its own factor.
    """
    for optimiser in optimisers:
        for group in optimiser.param_groups:
            group["lr"] = lr * group["factor"]


class Average:
    """Exponentially averaged weights and BN statistics; counters are copied."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.tensors: dict[str, Tensor] = {n: t.detach().clone() for n, t in model.state_dict().items()}
        self._blend: Callable[..., None] = get_ema_multi_avg_fn(decay)  # type: ignore[no-untyped-call]

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        """Move towards the model's weights."""
        theirs = model.state_dict()
        floats = [n for n, t in self.tensors.items() if t.is_floating_point()]
        self._blend([self.tensors[n] for n in floats], [theirs[n] for n in floats], 0)
        for name in self.tensors.keys() - set(floats):
            self.tensors[name].copy_(theirs[name])
