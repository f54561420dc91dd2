"""The family that a search found, and what it is compared with.

    s0 ... sM       the base model and its searched siblings
    sM+1 ...        siblings beyond them, by curves through the searched strategies
    general-M       stage M by curves through the stages before it, against the searched one
    compound-j      the same base by compound scaling, at the MACs of sj
    standard-j      a standard base under the searched strategy, at the MACs of sj

Paper: ScaleNet, Table 4 and appendix I. There the standard base is EfficientNet-B0 itself, of other MACs; here it has
B0's blocks, the depth and resolution of the strategy, and the width that makes MACs equal. In spaces other than the
paper's it is a MobileNetV2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ...blueprint import Blueprint
from ...costs.macs import cost
from ...networks.controls import mobilenet_v2
from ...scaling.compound import at_width, compound
from ...scaling.family import State, Ties, factors_of
from ...scaling.generalise import Growth, compare, generalise
from ...space import Arch
from ...spaces.scaled import Scaled
from ...spaces.scalenet import ScaleNetBase
from ...strategy import Scaling, scale
from ..compare.candidates import CHOSEN, Candidate

GENERALISED, COMPOUND, STANDARD = "generalised", "compound", "standard"
BEST_CURVE = "best"  # the curves with the least error at a stage left out
MOBILENET_WIDTH = 0.25  # of MobileNetV2; what is left of its width is fitted
B0 = (
    "MB1_K3_SE | MB6_K3_SE MB6_K3_SE | MB6_K5_SE MB6_K5_SE | MB6_K3_SE MB6_K3_SE MB6_K3_SE | "
    "MB6_K5_SE MB6_K5_SE MB6_K5_SE | MB6_K5_SE MB6_K5_SE MB6_K5_SE MB6_K5_SE | MB6_K3_SE"
)


def curves(space: Scaled, state: State, curve: str, ties: Ties = "middle", stages: int | None = None) -> Growth:
    """Fit curves through the strategies of a state.

    Args:
        space: The space.
        state: The searched strategies.
        curve: The family of curves, or `best`.
        ties: Which of equal strategies counts.
        stages: Only the first stages; by default all.

    Returns:
        The curves.
    """
    rows = factors_of(space, state.strategies, ties)[:stages]
    return compare(rows)[0] if curve == BEST_CURVE else generalise(rows, curve)


def family(space: Scaled, state: State, growth: Growth, beyond: int) -> list[Candidate]:
    """The family: the base s0, its searched siblings s1, ..., and `beyond` extrapolated ones."""
    assert state.base is not None
    base = space.base.blueprint(state.base)
    stages = len(state.strategies)
    zero: Arch = (0, 0, 0, 0)
    searched = [
        _member(f"s{c[0]}", CHOSEN, base, space.strategies[c], _named(space, state.base), c + state.base)
        for c in (zero, *(s.genes for s in state.strategies))
    ]
    further = [
        _member(f"s{j}", CHOSEN, base, scaling_at(space, growth, j), _named(space, state.base))
        for j in range(stages + 1, stages + beyond + 1)
    ]
    return [*searched, *further]


def scaling_at(space: Scaled, growth: Growth, stage: int) -> Scaling:
    """The strategy that curves give for a stage."""
    d, w, r = growth(stage)
    return Scaling(max(1.0, d), w, r, space.strategies.rule, space.strategies.spatial)


def controls(space: Scaled, state: State, members: Sequence[Candidate], curve: str) -> Iterator[Candidate]:
    """The networks that the members of the family are compared with."""
    assert state.base is not None
    base, rule, spatial = space.base.blueprint(state.base), space.strategies.rule, space.strategies.spatial
    name = _named(space, state.base)
    stages = len(state.strategies)
    if stages > 1:
        scaling = scaling_at(space, curves(space, state, curve, stages=stages - 1), stages)
        control = _member(f"general-{stages}", GENERALISED, base, scaling, name)
        yield replace(control, against=f"s{stages}")
    standard, called = standard_base(base, space)
    for j, member in enumerate(members):
        if j:
            control = _member(f"compound-{j}", COMPOUND, base, compound(base, member.macs, rule, spatial), name)
            yield replace(control, against=member.name)
        scaling = at_width(standard, member.macs, _depth(space, state, curve, j), _resolution(member), rule, spatial)
        control = _member(f"standard-{j}", STANDARD, standard, scaling, called)
        yield replace(control, against=member.name)


def standard_base(base: Blueprint, space: Scaled) -> tuple[Blueprint, str]:
    """The base that one would take without a search, and its name."""
    if isinstance(space.base, ScaleNetBase):
        return space.base.blueprint(space.base.parse(B0)), "EfficientNet-B0's blocks"
    network = mobilenet_v2(MOBILENET_WIDTH, base.resolution, base.classes, base.in_channels, early=True)
    return network, "MobileNetV2's blocks"


def _depth(space: Scaled, state: State, curve: str, stage: int) -> float:
    if stage == 0:
        return 1.0
    if stage <= len(state.strategies):
        return max(1.0, factors_of(space, state.strategies)[stage - 1][0])
    return max(1.0, curves(space, state, curve)(stage)[0])


def _resolution(member: Candidate) -> int:
    assert isinstance(member.network, Blueprint)
    return member.network.resolution


def _member(name: str, role: str, base: Blueprint, scaling: Scaling, of: str, arch: Arch | None = None) -> Candidate:
    network = scale(base, scaling)
    total = cost(network)
    label = f"d={scaling.depth:.5g} w={scaling.width:.4g} r={network.resolution}px : {of}"
    return Candidate(name, role, label, network, total.macs, total.params, arch)


def _named(space: Scaled, base: Arch) -> str:
    return space.base.format(base)
