"""The error that a network would have at the end of a longer training, told from a short one.

On logarithmic scales, errors fall along a line with the number of epochs, until they hardly fall any more. All networks
share this line, up to its height; those that are trained slowly fall a little faster. The three numbers were fitted to
21 curves of 14 networks on CIFAR-10 (`experiments/forecast.py`, docs/findings/prospects.md).
"""

from __future__ import annotations

from math import exp, log

STEEPNESS = 0.29  # of the line
FLAT_EPOCHS = 37.0  # where it ends
SLOW_GAIN = 0.18  # by which share the line of a network is steeper that takes e times as long for a step


def later_error(error: float, epochs: float, growth: float, pace: float = 1.0) -> float:
    """The error that a network would have after a longer training.

    Args:
        error: After the training so far.
        epochs: Of the training so far.
        growth: How many times as long the training will be.
        pace: Steps in the same time, as a multiple of those of the other networks.

    Returns:
        The error.
    """
    if epochs <= 0 or growth <= 1:
        return error
    times = min(FLAT_EPOCHS, epochs * growth) / min(FLAT_EPOCHS, epochs)
    steepness = STEEPNESS * max(0.0, 1 - SLOW_GAIN * log(pace))
    return error * exp(-steepness * log(times))
