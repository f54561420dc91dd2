"""A space of your own as a class: four convolutions, each of which keeps the width or doubles it. Takes two seconds.

The docstrings of `SequentialSpace` and `Layer` say what a class must have; `declare` (example 02) is shorter.
"""

from dataclasses import dataclass

import supernetic
from supernetic import Choice, Layer, SequentialSpace
from supernetic.blueprint import halved
from supernetic.testing import check_space


@dataclass(frozen=True)
class Doubling(SequentialSpace):
    resolution: int = 32
    classes: int = 10
    in_channels: int = 3
    name, paper, sharing = "doubling", "", "choice"
    choices = tuple(Choice(f"layer{i}", ("keep", "double")) for i in range(4))

    def start(self):
        r = self.resolution
        stem = Layer("stem", "conv", self.in_channels, 8, resolution=r, resolution_out=r, kernel=3, act="relu")
        return [stem], (8, r)  # the state: channels and resolution of the feature map

    def step(self, i, state, genes):
        (c, r), width, out = state, state[0] * (1 + genes[0]), halved(state[1], 2)
        kind = {"kernel": 3, "stride": 2, "act": "relu"}
        return [Layer(f"layer{i}", "conv", c, width, resolution=r, resolution_out=out, **kind)], (width, out)

    def finish(self, state):
        c, r = state
        pool = Layer("pool", "gap", c, c, resolution=r, resolution_out=1)
        return [pool, Layer("classifier", "linear", c, self.classes, resolution=1, resolution_out=1)]


space = Doubling()
check_space(space)  # raises an error if the space breaks the contract
print(f"{space.size} architectures; 1,1,1,1 has {supernetic.cost(space, '1,1,1,1').macs:,} MACs")
for arch in supernetic.sample(space, 3, ["macs<=600K"]).archs.tolist():
    print(arch, f"{supernetic.cost(space, arch).macs:,} MACs")
