"""A space, a sampler and an evaluator of your own in one search; a run records them as `module:Class` with fields."""

import supernetic
from supernetic import Macro, SampledPath, Step


class Small(Macro):  # a whole space as a class is example 12
    name = "small"


class OneAtRandom:
    def __call__(self, space, draw):
        return Step((SampledPath(tuple(space.sample(draw.rng, 1)[0].tolist())),))


class Depth:
    metrics, test = ("own/depth",), frozenset()

    def __call__(self, archs):
        return [{"own/depth": float(sum(gene > 0 for gene in arch))} for arch in archs]


own = {"space": Small(4, head=16, resolution=8, in_channels=1), "sampler": OneAtRandom(), "evaluator": Depth()}
quick = {"steps": 9, "network_steps": 9, "population": 6, "generations": 1, "keep": 1, "limit": 300, "workers": 1}
print(supernetic.search(**own, objectives=["max own/depth", "min macs"], **quick, out="runs/example-08"))
