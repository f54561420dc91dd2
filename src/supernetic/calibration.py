"""Cross-entropy, calibrated cross-entropy and accuracy from logits as arrays.

Paper: "Small Data, Big Decisions", section 1: one temperature, fitted on images that nothing else has seen, and
the cross-entropy under it; weights stay untouched and so does the order of the logits, hence accuracy.
Differences: the paper does not say how the temperature is found; here by Newton's method, kept inside a bracket.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .errors import InputError

Logits = npt.NDArray[np.floating]  # images x classes
Labels = npt.NDArray[np.integer]

# Without limits, logits that are always wrong or always right would give a temperature of infinity or 0.
MAX_TEMPERATURE, MIN_TEMPERATURE = 100.0, 0.01
MAX_NEWTON_STEPS = 60  # bisection alone would need 47 from the bracket to full precision


def cross_entropy(logits: Logits, labels: Labels, temperature: float = 1.0) -> float:
    """Return the mean negative log-likelihood, in nats, of the softmax of `logits / temperature`.

    Args:
        logits: Images x classes.
        labels: The class of each image.
        temperature: 1 for the plain cross-entropy.
    """
    scaled = _checked(logits, labels) / temperature
    return float((_log_sum(scaled) - scaled[np.arange(len(labels)), labels]).mean())


def accuracy(logits: Logits, labels: Labels) -> float:
    """Return the share of images whose largest logit is that of their label, in percent."""
    return 100 * float((_checked(logits, labels).argmax(axis=1) == labels).mean())


def temperature(logits: Logits, labels: Labels) -> float:
    """Return the temperature with the least cross-entropy.

    Cross-entropy is convex in the inverse temperature b: its slope, the mean of (expected logit - label's logit) under
    softmax(b z), rises with b at the rate of the logits' variance. So the slope's root is unique and easy to bracket.
    """
    z = _checked(logits, labels)
    z = z - z.mean(axis=1, keepdims=True)
    label = z[np.arange(len(z)), labels]
    low, high = 1 / MAX_TEMPERATURE, 1 / MIN_TEMPERATURE
    b = 1.0
    for _ in range(MAX_NEWTON_STEPS):
        p = np.exp(b * z - _log_sum(b * z)[:, None])
        expected = (p * z).sum(axis=1)
        slope = float((expected - label).mean())
        rate = float(((p * z * z).sum(axis=1) - expected**2).mean())
        low, high = (low, b) if slope > 0 else (b, high)
        newton = b - slope / rate if rate > 0 else low
        nearer = newton if low < newton < high else (low + high) / 2
        if abs(nearer - b) <= 1e-12 * b:
            break
        b = nearer
    return 1 / b


def safe_temperature(logits: Logits, labels: Labels) -> float:
    """Return `temperature`, but 1 if every image is classified correctly.

    In that case the best temperature is the coldest: predictions that are certain, so that a single mistake on other
    images costs without bound.
    """
    return 1.0 if (_checked(logits, labels).argmax(axis=1) == labels).all() else temperature(logits, labels)


def _log_sum(z: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Logarithm of the sum of exponentials of each row."""
    top = z.max(axis=1)
    total: npt.NDArray[np.float64] = top + np.log(np.exp(z - top[:, None]).sum(axis=1))
    return total


def _checked(logits: Logits, labels: Labels) -> npt.NDArray[np.float64]:
    if logits.ndim != 2 or labels.shape != (len(logits),) or not logits.size:
        raise InputError(f"logits are images x classes with one label each, got {logits.shape} and {labels.shape}")
    return logits.astype(np.float64)
