"""One network at every step: the supernet's weights on its path are trained as if it stood alone.

Paper: SCARLET-NAS, section 6.3 and appendix C.2, where single networks are trained with their stabilisers.
Differences: none; a stabiliser stays in place, unlike in `build` and `extract`.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import InputError
from ..space import Arch, Space
from .extremes import extremes
from .step import Draw, SampledPath, Step

ENDS = ("smallest", "largest")


@dataclass(frozen=True)
class Single:
    """Trains one network.

    Args:
        arch: Its name or encoding, or `smallest` or `largest`, by MACs.
    """

    arch: str = "largest"

    def __post_init__(self) -> None:
        if not self.arch:
            raise InputError("single: arch must name the network that is trained, got none")

    def arch_of(self, space: Space) -> Arch:
        """The network in a space."""
        return extremes(space)[ENDS.index(self.arch)] if self.arch in ENDS else space.parse(self.arch)

    def __call__(self, space: Space, draw: Draw) -> Step:
        """Take the network."""
        return Step((SampledPath(self.arch_of(space), regularise=True),))
