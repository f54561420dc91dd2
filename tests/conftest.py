"""One torch thread: two collapse when the machine is busy, and results then depend on their number."""

import json
import os
import runpy
import shutil
import signal
import subprocess
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from supernetic import catalog
from supernetic.blueprint import Layer
from supernetic.costs.table import LayerCost
from supernetic.space import Space
from supernetic.spaces.declared import DeclaredSpace

with suppress(ModuleNotFoundError):  # `.ci/other_python` runs without it
    import torch

    torch.set_num_threads(1)
JOBS = {"tests/cli", "tests/lab", *(f"tests/jobs/{job}" for job in ("search", "scale", "select", "detect"))}

# Every space of the catalogue, small enough for a test; odd sides, grey images and several resolutions among them.
SMALL = {
    "nasbench101": "channels=10,resolution=8,cells=1",
    "nasbench101-chain": "channels=8,resolution=9,cells=1",
    "nasbench201": "cells=1,channels=8,resolution=9",
    "transnas-micro": "cells=1,channels=8,resolution=33,classes=10",
    "macro": "channels=8,resolution=15,head=32",
    "scarlet-s1": "resolution=36,width=0.25,classes=10",
    "scarlet-s2": "resolution=32,width=0.25,classes=10",
    "attentive": "resolutions=24+33+40,width=0.25,classes=10,in_channels=1",
    "scalenet": "resolution=32,classes=10,width=0.25,released=true",
    "scalenet-base": "resolution=32,classes=10,width=0.25",
    "lite": "width=0.1,resolution=32,classes=10",
    "efficientnet": "resolution=32,classes=10",
    "mixed": "channels=8,resolution=14,in_channels=1",
}


# Tests of several seconds that say the same as a quicker one beside them, of a larger space or of a whole job. Together
# with those marked `slow` where they stand, they are left to `make test-all`.
ALSO_SLOW = (
    "cli/test_jobs.py::test_a_disk_that_is_full*checkpoint*",
    "cli/test_models.py::test_models_are_derived_exported_and_reported",
    "costs/test_budget.py::test_bins_need_at_most_one_and_a_half_trials*scalenet*",
    "costs/test_budget.py::test_empty_windows_say_what_is_near*attentive-macs in*",
    "costs/test_budget.py::test_every_kind_of_space*scalenet*",
    "costs/test_budget.py::test_latency_on_large_spaces*scalenet*",
    "costs/test_budget.py::test_the_papers_methods_stay_inside_the_window_too*proposal*",
    "datasets/test_convert.py::test_the_bundled_images_are_what_the_script_selects",
    "datasets/test_loading.py::test_names_by_place",
    "datasets/test_sheets.py::test_the_real*",
    "evaluators/test_angle.py::*shallow-wide*",
    "evaluators/test_standalone.py::test_workers_give_the_same_numbers",
    "evaluators/test_supernet.py::*scalenet*",
    "evaluators/test_supernet.py::test_one_side_of_a_supernet_that_has_two",
    "jobs/search/test_job.py::test_inherited_weights_can_be_trained_on",
    "jobs/search/test_job.py::test_nothing_need_be_trained",
    "lab/test_job.py::test_one_failure_does_not_end_the_others",
    "lab/measures/test_robustness.py::test_it_agrees_with_the_job_of_that_name",
    "commands/test_derive.py::test_stabilisers_are_folded",
    "commands/test_derive.py::test_trained_from_scratch_once",
    "commands/test_derive.py::test_trained_from_the_supernets_weights",
    "commands/rank/test_network_scores.py::test_rows_get_what_their_trainings_say",
    "commands/rank/test_command.py::test_trainings_on_a_subset_score_a_few",
    "jobs/search/test_table_search.py::test_every_searcher_by_name*thompson*",
    "jobs/train/test_job.py::test_every_space_trains_and_can_be_loaded_again*scalenet*",
    "jobs/train/test_job.py::test_every_space_trains_and_can_be_loaded_again*scarlet*",
    "jobs/train/test_job.py::test_every_space_trains_and_can_be_loaded_again*-*-*",
    "jobs/train/test_supernet_run.py::test_snapshots_are_kept_and_can_be_loaded",
    "samplers/test_checks.py::*scalenet*",
    "searchers/test_runner.py::test_killed_at_random_moments*evolution*",
    "searchers/test_evolution.py::test_regularised_evolution_reaches_the_best_cell",
    "searchers/test_local.py::test_evaluations_to_the_best_cell*",
    "spaces/test_cell_graphs.py::test_number_of_unique_cells",
    "spaces/test_cell_graphs.py::test_small_spaces_against_brute_force*5-*",
    "spaces/test_scaled.py::test_a_supernet_has_room_for_every_network*",
    "supernets/test_checks.py::*scalenet*",
    "supernets/test_checks.py::test_with_stabilisers_too*scarlet-s2*",
    "test_catalog.py::test_every_space_keeps_the_contract*scalenet*",
    "timing/test_graph.py::test_onnxruntime_runs_the_same_operations_as_for_the_exported_file",
    "timing/test_graph.py::test_so_it_does_for_cells",
    "training/test_devices.py::*",
    "training/test_loop.py::test_kill_9_and_resume_is_byte_identical",
    "training/test_loop.py::test_stopping_after_any_step",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        name = item.nodeid.removeprefix("tests/")
        if any(fnmatchcase(name, pattern.replace("[", "[[]")) for pattern in ALSO_SLOW):
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Tests that share a trained fixture go to one worker, so that it is made once.

    Those of a job share the fixtures of its folder, others at most those of their file.
    """
    from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

    class ByFixture(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            folder = file.rpartition("/")[0]
            return next((job for job in JOBS if folder.startswith(job)), file)

    return ByFixture(config, log)


@cache
def _small(name: str) -> Space:
    if name in SMALL:
        return catalog.space(f"{name}:{SMALL[name]}")
    space = catalog.space(name)
    assert isinstance(space, DeclaredSpace)
    stages = tuple(replace(s, width=tuple(w // 4 for w in s.width), depth=s.depth[:2]) for s in space.stages)
    return replace(space, stages=stages, head=replace(space.head, width=(32, 48)), resolution=(32,), classes=10)


@pytest.fixture(scope="session")
def small() -> Callable[[str], Space]:
    """A space of the catalogue by name, in a small variant."""
    return _small


@dataclass(frozen=True, eq=False)
class Slowness:
    """A price: a microsecond per channel."""

    name: str = "latency/ms"
    scale: int = 1000
    base: int = 5

    def of(self, layer: Layer) -> int:
        return layer.c_in + layer.hidden


@pytest.fixture
def slowness() -> LayerCost:
    """A made-up latency."""
    return Slowness()


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of a tiny supernet of NAS-Bench-Macro."""
    from supernetic.jobs.train.job import train

    path = tmp_path_factory.mktemp("runs") / "macro"
    train("macro:channels=4,resolution=8,head=16", steps=3, limit=300, out=path)
    return path


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    """A copy of it without scores, so that tests do not see one another's."""
    copy = tmp_path / "run"
    shutil.copytree(trained, copy)
    return copy


class Nodes:
    """A Dask scheduler and nodes (a nanny and its workers) on loopback, each a process group that can be killed."""

    def __init__(self, folder: Path, tls: Path | None = None) -> None:
        self.folder, self.started = folder, list[subprocess.Popen[bytes]]()
        files = {"ca-file": "ca.pem", "cert": "cert.pem", "key": "key.pem"}
        self.tls = [f"--tls-{name}={tls / file}" for name, file in files.items()] if tls else []
        self.scheme = "tls" if tls else "tcp"
        self.described = folder / "scheduler.json"
        listens = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
        protocol = ["--protocol", self.scheme]
        self.scheduler = self._start("scheduler", *listens, *protocol, "--scheduler-file", str(self.described))
        while not self.described.exists():
            assert self.scheduler.poll() is None
            time.sleep(0.05)
        while "address" not in (found := self._described()):
            time.sleep(0.05)
        self.address: str = found["address"]

    def _described(self) -> dict[str, Any]:
        with suppress(ValueError):
            found: dict[str, Any] = json.loads(self.described.read_text())
            return found
        return {}

    def node(self, workers: int = 1, *more: str) -> "subprocess.Popen[bytes]":
        """Start a node."""
        few = ["--nworkers", str(workers), "--nthreads", "1", "--no-dashboard", "--memory-limit", "0"]
        there = ["--host", "127.0.0.1", "--local-directory", str(self.folder), "--death-timeout", "20"]
        return self._start("worker", self.address, *few, *there, *more)

    def _start(self, *command: str) -> "subprocess.Popen[bytes]":
        with open(self.folder / f"{command[0]}-{len(self.started)}.log", "wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", command[0], *self.tls, *command[1:]],
                stdout=log, stderr=log, process_group=0, env={**os.environ, "OMP_NUM_THREADS": "1"},
            )  # fmt: skip
        self.started.append(process)
        return process

    def logs(self) -> str:
        return "".join(file.read_text(errors="replace") for file in sorted(self.folder.glob("*.log")))

    @staticmethod
    def kill(process: "subprocess.Popen[bytes]") -> None:
        """All processes of a node, or the scheduler."""
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def end(self) -> None:
        for process in self.started[::-1]:
            self.kill(process)


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Callable[..., Nodes]]:
    """Starts Dask schedulers, whose nodes a test starts and kills."""
    pytest.importorskip("distributed", reason="the extra `cluster` is not installed")
    made: list[Nodes] = []

    def make(tls: Path | None = None) -> Nodes:
        folder = tmp_path / f"dask-{len(made)}"
        folder.mkdir()
        made.append(Nodes(folder, tls))
        return made[-1]

    yield make
    for one in made:
        one.end()


@pytest.fixture(scope="session")
def shapes() -> SimpleNamespace:
    """Functions that write small data sets of annotated images, `write_voc` and `write_coco`."""
    return SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("shapes.py"))))


@pytest.fixture(scope="session")
def voc(shapes: SimpleNamespace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve annotated images in VOC's format."""
    path: Path = shapes.write_voc(tmp_path_factory.mktemp("voc") / "shapes", {"train": 8, "val": 2, "test": 2})
    return path
