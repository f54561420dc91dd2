from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from supernetic.errors import RunError
from supernetic.runs.directory import in_use, open_run, read_modest_file
from supernetic.runs.overview import MOST_BYTES, RunLine, holds_runs, runs_of

SETTINGS = """
job = "search"
where = ["cost/macs<=1M"]
[request]
minutes = 3
where = ["macs<=1M"]
[data]
name = "photos"
fingerprint = "01"
[space]
name = "mixed"
"""
NETWORKS = [
    {"name": "model-1", "role": "chosen", "recommended": True, "macs": 900, "params": 50,
     "test": {"test/accuracy": 81.5}, "trained": {"valid/accuracy": 83.0}},
    {"name": "plain", "role": "plain", "macs": 800, "params": 60, "test": {"test/accuracy": 88.0}},
]  # fmt: skip


def make(folder: Path, name: str = "run", networks: object = NETWORKS) -> Path:
    run = folder / name
    run.mkdir(parents=True)
    (run / "run.toml").write_text(SETTINGS)
    (run / "networks.json").write_text(json.dumps(networks))
    (run / "trust.json").write_text('{"test_images": 400}')
    (run / "timings.jsonl").write_text(
        '{"task": "plan", "seconds": 2.5}\n{"task": "search", "seconds": 10}\n{"task": "co'
    )
    (run / "report.html").write_text("<p>")
    return run


def only(folder: Path) -> RunLine:
    (line,) = runs_of(folder)
    return line


def test_a_run_in_one_line(tmp_path: Path) -> None:
    run = make(tmp_path)
    line = only(tmp_path)
    assert (line.name, line.state, line.job, line.space, line.data) == (
        "run",
        "interrupted",
        "search",
        "mixed",
        "photos",
    )
    assert (line.limits, line.minutes, line.seconds, line.report) == (("macs<=1M",), 3.0, 12.5, True)
    assert line.model is not None
    assert (line.model.name, line.model.accuracy, line.model.tested, line.model.images) == ("model-1", 81.5, True, 400)
    (run / "result.json").write_text("{}")
    assert only(tmp_path).state == "finished"


def test_before_the_test_the_best_by_validation(tmp_path: Path) -> None:
    run = make(tmp_path)
    records = [{**r, "test": None, "recommended": None} for r in NETWORKS]
    (run / "trained.json").write_text(json.dumps(records))
    (run / "networks.json").unlink()
    model = only(tmp_path).model
    assert model is not None
    assert (model.accuracy, model.tested) == (83.0, False)


def test_a_run_that_is_in_use_is_running(tmp_path: Path) -> None:
    with open_run(tmp_path / "run", {"job": "train"}):
        assert only(tmp_path).state == "running"
    assert only(tmp_path).state == "interrupted"


def test_looking_does_not_keep_a_job_out(tmp_path: Path) -> None:
    import threading

    run = tmp_path / "run"
    open_run(run, {"job": "train"}).close()
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            in_use(run)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        for _ in range(200):
            open_run(run, {"job": "train"}).close()
    finally:
        stop.set()
        watcher.join()


def damaged_settings(run: Path) -> None:
    (run / "run.toml").write_text("job = [")


def settings_of_other_types(run: Path) -> None:
    (run / "run.toml").write_text('job = 3\nasked = "x"\ndata = [1]\nspace = 4\nwhere = [1, {a = 2}]\n')


def binary(run: Path) -> None:
    (run / "run.toml").write_bytes(bytes(range(256)))


def deep(run: Path) -> None:
    (run / "networks.json").write_text("[" * 100_000)


def no_networks(run: Path) -> None:
    (run / "networks.json").write_text('[{"name": "../../etc", "role": 3}]')


def endless_number(run: Path) -> None:
    (run / "timings.jsonl").write_text('{"task": "plan", "seconds": "' + "9" * 400 + '"}\n')


def large(run: Path) -> None:
    with (run / "networks.json").open("wb") as file:
        file.truncate(MOST_BYTES + 1)


def link(run: Path) -> None:
    (run / "networks.json").unlink()
    (run / "networks.json").symlink_to("/etc/passwd")


def pipe(run: Path) -> None:
    (run / "run.toml").unlink()
    os.mkfifo(run / "run.toml")


def directory(run: Path) -> None:
    (run / "run.toml").unlink()
    (run / "run.toml").mkdir()


@pytest.mark.parametrize(
    ("harm", "problem"),
    [
        (damaged_settings, "run.toml is damaged: "),
        (binary, "run.toml is damaged: "),
        (deep, "damaged: RecursionError"),
        (no_networks, "networks.json"),
        (large, "networks.json has 4,194,305 bytes, more than 4,194,304"),
        (link, "networks.json is a link, which is not followed"),
        (pipe, "run.toml is no plain file"),
        (directory, "run.toml cannot be read: Is a directory"),
    ],
)
def test_a_bad_run_has_a_line_and_hides_no_other(tmp_path: Path, harm: Callable[[Path], None], problem: str) -> None:
    make(tmp_path, "good")
    harm(make(tmp_path, "bad"))
    lines = {line.name: line for line in runs_of(tmp_path)}
    assert lines["good"].state == "interrupted"
    assert lines["bad"].state == "cannot be read"
    assert lines["bad"].problem.startswith(problem)


@pytest.mark.parametrize("harm", [settings_of_other_types, endless_number])
def test_values_of_other_types_do_no_harm(tmp_path: Path, harm: Callable[[Path], None]) -> None:
    harm(make(tmp_path))
    assert only(tmp_path).name == "run"


def test_a_link_to_a_run_is_listed_and_not_followed(tmp_path: Path) -> None:
    make(tmp_path / "elsewhere")
    folder = tmp_path / "runs"
    make(folder, "own")
    (folder / "linked").symlink_to(tmp_path / "elsewhere" / "run", target_is_directory=True)
    lines = {line.name: line for line in runs_of(folder)}
    assert (lines["linked"].problem, lines["linked"].report) == ("a link, which is not followed", False)


def test_what_is_a_folder_of_runs(tmp_path: Path) -> None:
    run = make(tmp_path / "runs")
    assert holds_runs(tmp_path / "runs")
    assert not holds_runs(run)
    assert not holds_runs(tmp_path)
    assert not holds_runs(tmp_path / "nowhere")


def test_a_lock_that_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    run = make(tmp_path)
    os.mkfifo(run / ".lock")
    assert not in_use(run)


def test_a_file_that_does_not_exist_is_none(tmp_path: Path) -> None:
    assert read_modest_file(tmp_path / "x", 10) is None
    (tmp_path / "x").write_text("12345678901")
    with pytest.raises(RunError, match="x has 11 bytes, more than 10"):
        read_modest_file(tmp_path / "x", 10)
