"""Losses of a path: against labels, or against a larger network's answer on the same batch."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor


def label_loss(logits: Tensor, labels: Tensor, smoothing: float = 0.0) -> Tensor:
    """Mean cross-entropy in nats.

    Args:
        logits: N x classes.
        labels: N class numbers.
        smoothing: Share of the target that is spread over all classes.

    Returns:
        The loss.
    """
    return F.cross_entropy(logits, labels, label_smoothing=smoothing)


def teacher_loss(logits: Tensor, teacher: Tensor) -> Tensor:
    """In-place distillation: mean cross-entropy to the teacher's softmax, at temperature 1 and without labels.

    Paper: AttentiveNAS, appendix A. The gradient stops at the teacher.
    """
    return F.cross_entropy(logits, teacher.detach().softmax(dim=1))
