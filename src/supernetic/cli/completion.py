"""Shell completion: `supernetic --install-completion bash`, and the names that can be completed.

Names come from catalogues that import nothing heavy, because a shell asks at every press of the tab key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from typer._completion_classes import completion_init
from typer._completion_shared import Shells, get_completion_script, install

PROGRAM = "supernetic"
INSTRUCTION = "_SUPERNETIC_COMPLETE"  # the variable in which a shell asks for completions


def prepare_completion() -> None:
    """Make the shells known, so that their questions are answered."""
    completion_init()


def show_completion(shell: Shells | None) -> None:
    """Print the script that teaches a shell our names, and leave.

    Args:
        shell: The shell; none: do nothing.
    """
    from typer import Exit

    if shell is not None:
        print(get_completion_script(prog_name=PROGRAM, complete_var=INSTRUCTION, shell=shell.value))
        raise Exit


def install_completion(shell: Shells | None) -> None:
    """Put the script where a shell reads it at its start, and leave.

    Args:
        shell: The shell; none: do nothing.
    """
    from typer import Exit

    if shell is not None:
        _, path = install(shell=shell.value, prog_name=PROGRAM, complete_var=INSTRUCTION)
        print(f"{path}: completion for {shell.value}, from its next start on")
        raise Exit


# --- names ------------------------------------------------------------------------------------------------------------


def complete_spaces(incomplete: str) -> list[str]:
    """Names of spaces that begin so."""
    from ..catalog import SPACES

    return _beginning(SPACES, incomplete)


def complete_tables(incomplete: str) -> list[str]:
    """Names of benchmark tables that begin so."""
    from ..catalog import TABLES

    return _beginning(TABLES, incomplete)


def complete_searchers(incomplete: str) -> list[str]:
    """Names of searchers that begin so."""
    from ..catalog import SEARCHERS

    return _beginning(SEARCHERS, incomplete)


def complete_samplers(incomplete: str) -> list[str]:
    """Names of samplers that begin so."""
    from ..samplers.named import SAMPLERS

    return _beginning(SAMPLERS, incomplete)


def complete_data(incomplete: str) -> list[str]:
    """Names of data sets that begin so; where there are none, a shell completes files."""
    from ..datasets.known import KNOWN

    return _beginning((known.name for known in KNOWN), incomplete)


def complete_trackers(incomplete: str) -> list[str]:
    """Names of trackers that begin so."""
    from ..tracking.named import TRACKERS

    return _beginning(TRACKERS, incomplete)


def complete_devices(incomplete: str) -> list[str]:
    """Devices that begin so."""
    return _beginning(("auto", "cpu", "cuda", "mps"), incomplete)


def complete_precisions(incomplete: str) -> list[str]:
    """Kinds of mixed precision that begin so."""
    from ..hardware import PRECISIONS

    return _beginning(PRECISIONS, incomplete)


def complete_presets(incomplete: str) -> list[str]:
    """Names of papers' settings that begin so."""
    from ..jobs.search.goals import PRESETS

    return _beginning(PRESETS, incomplete)


def complete_one_of(*names: str) -> Callable[[str], list[str]]:
    """Return what completes an option with a few fixed values."""

    def complete(incomplete: str) -> list[str]:
        return _beginning(names, incomplete)

    return complete


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
