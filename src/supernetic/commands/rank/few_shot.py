"""Few-shot supernets: several runs, each of which was trained on the networks with one option at one choice.

Paper: Zhao et al., "Few-shot Neural Architecture Search", arXiv 2006.06863; the sampler of such a run is `fixed`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from ...errors import InputError, RunError
from ...objective import Metrics
from ...runs.directory import read_settings
from ...runs.space_record import space_of
from ...samplers.fixed import choice_index
from ...space import Arch, Space

FIXED = "fixed"  # the sampler

Ask = Callable[[str, list[Arch]], list[Metrics]]  # (run, architectures)


def ask_parts(runs: Sequence[str], space: Space, archs: Sequence[Arch], ask: Ask) -> list[Metrics]:
    """What each architecture gets from the run that was trained on its option."""
    choice, trained = parts_of(runs)
    names = [c.name for c in space.choices]
    if choice not in names:
        raise RunError(f"{runs[0]} was trained with {choice} fixed, which {space.name} does not have")
    i = names.index(choice)
    options = [str(o) for o in space.choices[i].options]
    rows: dict[str, list[int]] = {}
    for row, arch in enumerate(archs):
        rows.setdefault(options[arch[i]], []).append(row)
    if lacking := [o for o in rows if o not in trained]:
        n = len(rows[lacking[0]])
        raise InputError(f"no run was trained on {lacking[0]} as {choice}, which {n} of {len(archs)} networks have")
    answers: list[Metrics] = [{}] * len(archs)
    for option, some in rows.items():
        for row, answer in zip(some, ask(trained[option], [archs[r] for r in some]), strict=True):
            answers[row] = answer
    return answers


def parts_of(runs: Sequence[str]) -> tuple[str, dict[str, str]]:
    """The choice that was split, and the run by option."""
    choices: dict[str, str] = {}
    found: dict[str, str] = {}
    for run in runs:
        choice, option = _fixed(run)
        if option in found:
            raise InputError(f"{found[option]} and {run} were both trained on {option} as {choice}")
        choices[choice] = run
        found[option] = run
    if len(choices) > 1:
        told = ", ".join(f"{choice} in {run}" for choice, run in choices.items())
        raise InputError(f"parts of a few-shot supernet split one choice, got {told}")
    return next(iter(choices)), found


def _fixed(run: str) -> tuple[str, str]:
    """The names of the choice and of the option that all networks of a training had."""
    settings = read_settings(run)
    sampler = settings.get("recipe", {}).get("sampler", {})
    if sampler.get("name") != FIXED:
        found = sampler.get("name") or f"a run of {settings.get('job', 'something else')!r}"
        raise RunError(f"{run} is no part of a few-shot supernet: its sampler must be {FIXED}, got {found}")
    space = space_of(Path(run), settings)
    i, gene = choice_index(space, sampler.get("choice", ""), sampler.get("option", ""))
    return space.choices[i].name, str(space.choices[i].options[gene])
