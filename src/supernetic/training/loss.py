"""Losses of a path: against labels, or against a larger network's answer on the same batch."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor


def label_loss(logits: Tensor, labels: Tensor, smoothing: float = 0.0, class_weights: Tensor | None = None) -> Tensor:
    """Mean cross-entropy in nats.

    Args:
        logits: N x classes.
        labels: N class numbers.
        smoothing: Share of the target that is spread over all classes.
        class_weights: By which the loss of each image is multiplied, by its class. Not divided by their sum, as torch
            would do: a batch that happens to have many images of large classes then counts less.

    Returns:
        The loss.
    """
    if class_weights is None:
        return F.cross_entropy(logits, labels, label_smoothing=smoothing)
    losses = F.cross_entropy(logits, labels, label_smoothing=smoothing, reduction="none")
    return (losses * class_weights[labels]).mean()


def teacher_loss(logits: Tensor, teacher: Tensor) -> Tensor:
    """In-place distillation: mean cross-entropy to the teacher's softmax, at temperature 1 and without labels.

    Paper: AttentiveNAS, appendix A. The gradient stops at the teacher.
    """
    return F.cross_entropy(logits, teacher.detach().softmax(dim=1))
