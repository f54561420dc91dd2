"""Spaces and searchers of a user's own classes, from a module, through jobs and back."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import supernetic
from supernetic import catalog
from supernetic.errors import RunError, TrustError

MODULE = """
from dataclasses import dataclass
from typing import ClassVar
from supernetic.samplers.uniform import Uniform
from supernetic.searchers.random import RandomSearch
from supernetic.spaces.macro import Macro

@dataclass(frozen=True)
class Mine(Macro):
    factor: float = 1.0
    name: ClassVar[str] = "mine"

@dataclass(frozen=True)
class Searcher(RandomSearch):
    patience: int = 3

@dataclass(frozen=True)
class Sampler(Uniform):
    share: float = 0.5
"""
SMALL: dict[str, Any] = {"channels": 4, "resolution": 8, "head": 16, "in_channels": 1, "factor": 2.0}
TRAINING: dict[str, Any] = {"steps": 2, "limit": 300, "threads": 1}


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A module that can be imported."""
    name = "own_classes_of_a_user"
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    yield import_module(name)
    sys.modules.pop(name, None)


def test_a_space_of_a_module_through_train_rank_report_and_resume(own: Any, tmp_path: Path) -> None:
    run, space = tmp_path / "run", own.Mine(**SMALL)
    result = supernetic.train(space, sampler=own.Sampler(share=0.25), **TRAINING, out=run)
    found = supernetic.rank(space, score=str(run), truth="mean_acc", table="macro", sample=3, sample_top=0)
    assert found.space == "mine"
    page = supernetic.report(run)
    assert "own_classes_of_a_user:Mine" in " ".join(page.notes)
    assert supernetic.report(run, trust_code=True).notes == ()
    assert supernetic.resume(run).to_json() == result.to_json()  # a finished run is read, which needs no code
    (run / "result.json").unlink()
    with pytest.raises(TrustError, match=r"own_classes_of_a_user:Mine .* --trust-code"):
        supernetic.resume(run)
    sys.modules.pop(own.__name__)
    assert supernetic.resume(run, trust_code=True).to_json() == result.to_json()
    (tmp_path / f"{own.__name__}.py").unlink()
    (run / "result.json").unlink()
    sys.modules.pop(own.__name__)
    with pytest.raises(RunError, match=r"cannot be imported .*: call the job again with the space as an object"):
        supernetic.resume(run, trust_code=True)
    again = supernetic.train(space, sampler=own.Sampler(share=0.25), **TRAINING, out=run)
    assert again.to_json() == result.to_json()


def test_a_searcher_of_a_module_is_resumed(own: Any, tmp_path: Path) -> None:
    run = tmp_path / "run"
    given: dict[str, Any] = {"searcher": own.Searcher(batch=2, patience=5), "evaluations": 6}
    result = supernetic.search_table("nasbench201", **given, out=run)
    assert supernetic.resume(run).to_json() == result.to_json()  # a finished run is read: no code is needed
    (run / "result.json").unlink()
    with pytest.raises(TrustError, match="--trust-code"):
        supernetic.resume(run)
    assert supernetic.resume(run, trust_code=True).to_json() == result.to_json()
    assert supernetic.search_table("nasbench201", **given, out=run).to_json() == result.to_json()


@pytest.mark.slow
def test_a_whole_search_of_a_module_is_resumed_and_ranked(own: Any, tmp_path: Path) -> None:
    run, space = tmp_path / "run", own.Mine(**SMALL)
    given: dict[str, Any] = {"space": space, "searcher": own.Searcher(batch=2), "evaluations": 4, "keep": 1, **TRAINING}
    given |= {"network_steps": 2, "workers": 1}
    result = supernetic.search(**given, minutes=1, out=run)
    for name in ("result.json", "trust.json", "networks.json"):
        (run / name).unlink()
    with pytest.raises(TrustError, match="--trust-code"):
        supernetic.resume(run)
    again = supernetic.resume(run, trust_code=True)
    assert again.to_json()["models"].keys() == result.to_json()["models"].keys()
    assert supernetic.rank(space, score=str(run), truth="mean_acc", table="macro", sample=3, sample_top=0).n == 3
    assert supernetic.report(run).page


def test_a_scaled_space_of_a_module(own: Any, tmp_path: Path) -> None:
    from supernetic.runs.directory import open_run, read_settings
    from supernetic.runs.space_record import space_of, space_record
    from supernetic.runs.trust import trusting
    from supernetic.spaces.scaled import Strategies

    space = own.Mine(**SMALL) * Strategies(((1.0,), (1.1, 1.5)), ((32,), (34, 36)), rule="efficientnet")
    open_run(tmp_path / "run", {"space": space_record(space, space)}).close()
    settings = read_settings(tmp_path / "run")
    with pytest.raises(TrustError):
        space_of(tmp_path / "run", settings)
    with trusting(given=[space]):
        assert space_of(tmp_path / "run", settings) == space


def test_a_python_file_in_several_processes(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    text = "\n".join(MODULE.replace("@dataclass(frozen=True)\nclass S", "class S").splitlines())
    file.write_text(f"{text}\nspace = Mine(**{SMALL!r})\n")
    first = supernetic.train(str(file), **TRAINING, out=tmp_path / "first")
    start = str(tmp_path / "first")
    found = supernetic.train(str(file), **TRAINING, start=start, processes=2, out=tmp_path / "second")
    assert found.space == first.space == catalog.space(str(file)).name
