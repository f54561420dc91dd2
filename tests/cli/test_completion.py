from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from supernetic import catalog
from supernetic.cli import app, completion
from supernetic.datasets.known import KNOWN
from supernetic.hardware import PRECISIONS
from supernetic.jobs.search.goals import PRESETS
from supernetic.jobs.search.request import EVIDENCE, RETRAIN_MODES, SUPERNET_MODES
from supernetic.samplers.named import SAMPLERS


def complete(line: str) -> list[str]:
    """What bash is told at the end of a line; torch must not be imported for it."""
    words = line.split(" ")
    code = "import sys; sys.modules['torch'] = None; from supernetic.cli import main; main()"
    asked = {"_SUPERNETIC_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, **asked}
    )
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("supernetic sea", ["search"]),
        ("supernetic cost scarlet", ["scarlet-s1", "scarlet-s2"]),
        ("supernetic search --table nas", ["nasbench201"]),
        ("supernetic search --searcher m", ["mcea"]),
        ("supernetic search --device c", ["cpu", "cuda"]),
        ("supernetic search --preset s", ["scarlet"]),
        ("supernetic search cif", ["cifar10"]),
        ("supernetic train macro --sampler s", ["strict_fair", "sandwich", "single"]),
        ("supernetic train macro --sna", ["--snapshots"]),
    ],
)
def test_a_shell_completes(line: str, names: list[str]) -> None:
    assert complete(line) == names


def test_names_are_those_of_the_catalogues() -> None:
    assert completion.complete_spaces("") == [*catalog.SPACES]
    assert completion.complete_tables("m") == ["macro"]
    assert completion.complete_searchers("") == [*catalog.SEARCHERS]
    assert completion.complete_samplers("") == [*SAMPLERS]
    assert completion.complete_precisions("") == [*PRECISIONS]
    assert completion.complete_presets("") == [*PRESETS]
    assert completion.complete_data("") == [known.name for known in KNOWN]


@pytest.mark.parametrize(
    ("option", "modes"), [("supernet", SUPERNET_MODES), ("evidence", EVIDENCE), ("retrain", RETRAIN_MODES)]
)
def test_modes_are_those_that_a_search_knows(option: str, modes: tuple[str, ...]) -> None:
    command: Any = get_command(app)
    (parameter,) = (p for p in command.commands["search"].params if p.name == option)
    assert [item.value for item in parameter.shell_complete(None, "")] == [*modes]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_the_script_of_a_shell(shell: str, process: Callable[..., Any]) -> None:
    done = process("--show-completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    assert "_SUPERNETIC_COMPLETE" in done.stdout


def test_bash_accepts_its_script(process: Callable[..., Any], tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(process("--show-completion", "bash").stdout)
    done = subprocess.run(
        ["bash", "--norc", "-c", f"source {script}; complete -p supernetic"], capture_output=True, text=True
    )
    assert "_supernetic_completion" in done.stdout


def test_it_is_installed_where_the_shell_looks(
    process: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    done = process("--install-completion", "bash")
    assert (done.returncode, done.stderr) == (0, "")
    assert str(tmp_path / ".bash_completions/supernetic.sh") in done.stdout
    assert "supernetic.sh" in (tmp_path / ".bashrc").read_text()


def test_a_shell_that_is_not_known_is_named(refused: Callable[[list[str], str], str]) -> None:
    assert refused(["--show-completion", "tcsh"], "tcsh") == ""
