"""Few-shot NAS: each of several supernets is trained on the networks that have one option at one choice.

Paper: Zhao et al., "Few-shot Neural Architecture Search", arXiv 2006.06863.
Differences: one choice is split. The supernets are whole, but only the weights of their part are trained.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..errors import UnknownNameError
from ..space import Space
from .step import Draw, Sampler, Step
from .strict_fair import StrictFair


@dataclass(frozen=True)
class Fixed:
    """The paths of another sampler, with one choice fixed."""

    choice: str = ""  # name of the choice; "" for the first
    option: str = ""  # name of its option; "" for the first
    sampler: Sampler = field(default_factory=StrictFair)

    def __call__(self, space: Space, draw: Draw) -> Step:
        """Draw paths that all have the option."""
        i, gene = choice_index(space, self.choice, self.option)
        step = self.sampler(space, draw)
        paths = [p._replace(arch=space.check((*p.arch[:i], gene, *p.arch[i + 1 :]))) for p in step.paths]
        return step._replace(paths=tuple(paths))


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
