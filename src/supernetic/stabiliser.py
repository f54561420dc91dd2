"""The equivariant learnable stabiliser: in a supernet, a linear map in place of a skip.

Paper: Chu et al., "SCARLET-NAS", arXiv 1908.06022, section 4.1; behind pooling too in "Single-path ranking
correlations", where it is called linear transformer.

A 1x1 convolution without bias, BN and activation, with the stride of the layer and its nominal widths. Kinds:

    skip        in place of skips
    skip+pool   behind average pooling too (NAS-Bench-201)
    relu        followed by a ReLU: the paper's counter-example, which can't be folded away
"""

from __future__ import annotations

from .blueprint import Layer
from .errors import UnknownNameError

STABILISER_KINDS = ("skip", "skip+pool", "relu")


def require_stabiliser(kind: str, kinds: tuple[str, ...] = ("skip", "relu")) -> None:
    """Raise an error if `kind` is not one of the `kinds` that a space offers; "" means no stabiliser."""
    if kind and kind not in kinds:
        raise UnknownNameError("stabiliser", kind, kinds)


def stabilise(skip: Layer, kind: str, c_out: int = 0) -> Layer:
    """Return the stabiliser that replaces a skip.

    Args:
        skip: The layer to replace.
        kind: One of `STABILISER_KINDS`.
        c_out: Channels of its output, which may be wider than that of the skip; 0 for as many as the skip has.
    """
    return skip._replace(
        kind="conv", kernel=1, c_out=c_out or skip.c_out, norm=False, act="relu" if kind == "relu" else ""
    )


def is_stabiliser(layer: Layer) -> bool:
    """Return whether a layer is a stabiliser: no other layer of a body is a 1x1 convolution without BN."""
    return layer.kind == "conv" and layer.kernel == 1 and not layer.norm and layer.stage > 0
