"""The equivariant learnable stabiliser: in a supernet, a linear map in place of a skip.

Paper: Chu et al., "SCARLET-NAS", arXiv 1908.06022 (paper 004), section 4.1; on pooling too in "Single-path ranking
correlations" (paper 002), where it is called linear transformer.

A 1x1 convolution without bias, BN and activation, with the stride of the layer and its nominal widths. Kinds:

    skip        in place of skips
    skip+pool   behind average pooling too (NAS-Bench-201)
    relu        followed by a ReLU: the paper's counter-example, which can't be folded away
"""

from __future__ import annotations

from .blueprint import Layer
from .errors import UnknownNameError

KINDS = ("skip", "skip+pool", "relu")


def require_stabiliser(kind: str, known: tuple[str, ...] = ("skip", "relu")) -> None:
    """Refuse a kind that a space does not have; "" is none."""
    if kind and kind not in known:
        raise UnknownNameError("stabiliser", kind, known)


def stabilise(skip: Layer, kind: str, c_out: int = 0) -> Layer:
    """The stabiliser in place of a skip; its output may be wider than a skip's."""
    return skip._replace(
        kind="conv", kernel=1, c_out=c_out or skip.c_out, norm=False, act="relu" if kind == "relu" else ""
    )


def is_stabiliser(layer: Layer) -> bool:
    """Nothing else in the body of a network is a 1x1 convolution without BN."""
    return layer.kind == "conv" and layer.kernel == 1 and not layer.norm and layer.stage > 0
