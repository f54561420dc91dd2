"""VKDNW: how evenly the weights of a network could be estimated, by the spectrum of its Fisher information.

Paper: Tybl & Neumann, "Training-free Neural Architecture Search through Variance of Knowledge of Deep Network Weights",
arXiv 2502.04975, section 3. This is its single score: the entropy, plus the number of tensors of weights.
Differences: only live layers are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import nan

import torch
from torch import Tensor, nn

from ..nn.unit import Unit
from .probe import Probe

SMOOTHING = 0.05  # of the probabilities, towards equal ones
DECILES = tuple(k / 10 for k in range(1, 10))


def vkdnw(probe: Probe) -> float:
    """The entropy of the deciles of the Fisher information's eigenvalues, plus the number of tensors of weights.

    One number stands for each tensor of weights, its first. The network runs as in evaluation, so that BN does nothing
    yet and images do not depend on one another.
    """
    if not probe.live:
        return nan
    jacobian = _jacobian(probe)  # images x classes x tensors
    values = torch.linalg.eigvalsh(_fisher(jacobian, probe)).clamp(min=0)
    deciles = torch.quantile(values, values.new_tensor(DECILES))
    share = deciles / deciles.sum()
    return float(torch.special.entr(share).sum()) + jacobian.shape[2]


def _fisher(jacobian: Tensor, probe: Probe) -> Tensor:
    with _evaluation(probe.network), torch.no_grad():
        p = probe.network(probe.images).double().cpu().softmax(dim=1)
    p = (1 - SMOOTHING) * p + SMOOTHING / p.shape[1]
    covariance = torch.diag_embed(p) - p[:, :, None] * p[:, None, :]
    return torch.einsum("nci,ncd,ndj->ij", jacobian, covariance, jacobian) / len(p)


def _jacobian(probe: Probe) -> Tensor:
    """The derivative of each logit of each image by the first number of each tensor of weights."""
    units = [u for layer in probe.live for u in probe.network.units(layer).values()]
    seen: list[tuple[Unit, Tensor, Tensor]] = []

    def keep(unit: Unit, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
        seen.append((unit, inputs[0].detach(), output))
        return output.clone()  # what follows may overwrite it

    hooks = [u.register_forward_hook(keep) for u in units]
    try:
        with _evaluation(probe.network), torch.enable_grad():
            logits = probe.network(probe.images)
    finally:
        for hook in hooks:
            hook.remove()
    outputs = [output for _, _, output in seen]
    rows = []
    for c in range(logits.shape[1]):
        arriving = torch.autograd.grad(logits[:, c].sum(), outputs, retain_graph=True, materialize_grads=True)
        columns = [d for (u, x, y), g in zip(seen, arriving, strict=True) for d in _derivatives(u, x, y, g)]
        rows.append(torch.stack(columns, dim=1))
    return torch.stack(rows, dim=1).double().cpu()


def _derivatives(unit: Unit, x: Tensor, y: Tensor, arriving: Tensor) -> Iterator[Tensor]:
    """By the first number of each tensor of a unit, for each image."""
    op, norm, y = unit.op, unit.norm, y.detach()
    if isinstance(op, nn.Linear):
        yield arriving[:, 0] * x.flatten(1)[:, 0]
    elif op is not None:
        stride, padding = op.stride[0], int(op.padding[0])
        shifted = nn.functional.pad(x[:, 0], (padding, padding, padding, padding))[:, ::stride, ::stride]
        behind = arriving[:, 0]
        scale = 1.0 if norm is None else (1 + norm.eps) ** -0.5  # BN divides by the variance it starts with, 1
        yield scale * _sum(behind * shifted[:, : behind.shape[1], : behind.shape[2]])
    if op is not None and op.bias is not None:
        yield _sum(arriving[:, 0])
    if norm is not None and norm.weight is not None:
        yield _sum(arriving[:, 0] * y[:, 0])  # the weight is 1 and the bias 0
        yield _sum(arriving[:, 0])


def _sum(maps: Tensor) -> Tensor:
    """One sum per image."""
    return maps.reshape(len(maps), -1).sum(1)


@contextmanager
def _evaluation(network: nn.Module) -> Iterator[None]:
    was = network.training
    network.eval()
    try:
        yield
    finally:
        network.train(was)
