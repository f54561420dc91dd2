"""Few-shot NAS: each of several supernets is trained on the networks that have one option at one choice.

Paper: Zhao et al., "Few-shot Neural Architecture Search", arXiv 2006.06863.
Differences: one choice is split. The supernets are whole, but only the weights of their part are trained.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..errors import ArchError, InputError, UnknownNameError
from ..space import Arch, Space
from .step import Draw, Sampler, Step
from .strict_fair import StrictFair

MAX_TRIES = 1000  # steps of the inner sampler, before giving up


@dataclass(frozen=True)
class Fixed:
    """The paths of another sampler, with one choice fixed."""

    choice: str = ""  # name of the choice; "" for the first
    option: str = ""  # name of its option; "" for the first
    sampler: Sampler = field(default_factory=StrictFair)

    def __call__(self, space: Space, draw: Draw) -> Step:
        """Draw paths that all have the option."""
        i, gene = choice_index(space, self.choice, self.option)
        for _ in range(MAX_TRIES):
            step = self.sampler(space, draw)
            archs = [_with_option(space, p.arch, i, gene) for p in step.paths]
            if all(_is_valid(space, arch) for arch in archs):  # in cell graphs, an edge may be needed by the others
                paths = [p._replace(arch=space.check(a)) for p, a in zip(step.paths, archs, strict=True)]
                return step._replace(paths=tuple(paths))
        what = f"{space.choices[i].name} = {space.choices[i].options[gene]}"
        raise InputError(f"fixed: no step with {what} had only valid networks of {space.name} in {MAX_TRIES} tries")


def _with_option(space: Space, arch: Arch, i: int, gene: int) -> Arch:
    """Set a choice; choices that depend on it keep to what it allows."""
    children = {j: c.allowed[gene] for j, c in enumerate(space.choices) if c.parent == i}
    return tuple(gene if j == i else g % children[j] if j in children else g for j, g in enumerate(arch))


def _is_valid(space: Space, arch: Arch) -> bool:
    try:
        space.check(arch)
    except ArchError:
        return False
    return True


def choice_index(space: Space, choice: str, option: str) -> tuple[int, int]:
    """Return the positions of a choice and of its option.

    Args:
        space: The space.
        choice: Name of the choice; "" for the first.
        option: Name of the option; "" for the first.
    """
    names = [c.name for c in space.choices]
    if choice and choice not in names:
        raise UnknownNameError(f"choice of {space.name}", choice, names)
    i = names.index(choice) if choice else 0
    options = [str(o) for o in space.choices[i].options]
    if option and option not in options:
        raise UnknownNameError(f"option of {names[i]}", option, options)
    return i, options.index(option) if option else 0
