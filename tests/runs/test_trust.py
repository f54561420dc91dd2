"""A received run is data: nothing that a run or a model says is executed, and nothing outside of it is written.

Every route is taken through the command line with a payload that leaves a mark, and once more with `--trust-code`, so
that each test can fail.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from supernetic import cli
from supernetic.runs.directory import SETTINGS

SPACE = "macro:channels=4,resolution=8,head=16"
SEARCH = [
    "search", "--where", "macs<=60K", "--steps", "2", "--network-steps", "2", "--population", "4", "--generations",
    "1", "--keep", "1", "--limit", "300", "--workers", "1", "--threads", "1",
]  # fmt: skip
SPACE_FILE = """
from pathlib import Path
Path({mark!r}).touch()
from supernetic.spaces.macro import Macro
space = Macro(channels=4, resolution=8, head=16, in_channels=1)
"""
BASELINE_FILE = """
from pathlib import Path
Path({mark!r}).touch()
from torch import nn
def build(classes, in_channels, resolution):
    return nn.Sequential(nn.Flatten(), nn.Linear(in_channels * resolution**2, classes))
"""

BAD_NAMES = [
    "../../escaped", "/tmp/escaped", "..", ".", "a/b", "a\nb", "", "a\0b", "escaped" * 40, "C:\\escaped", "..\\escaped",
    "\\\\host\\escaped", "escaped:stream", "~/escaped", "a b", "\u202eescaped", 3, None, ["escaped"],
]  # fmt: skip

Command = Callable[..., tuple[int, str]]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """(exit code, what was said on stderr last) of a command."""

    def run(*arguments: object) -> tuple[int, str]:
        code = 0
        try:
            cli.main([str(a) for a in arguments])
        except SystemExit as leaving:
            code = int(leaving.code or 0)
        lines = capsys.readouterr().err.splitlines()
        assert not any("Traceback" in line for line in lines)
        return code, lines[-1] if lines else ""

    return run


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """The file that a payload makes when it runs."""
    return tmp_path / "mark"


@pytest.fixture
def evil(tmp_path: Path, mark: Path) -> Path:
    """A Python file with a space that leaves the mark."""
    file = tmp_path / "evil.py"
    file.write_text(SPACE_FILE.format(mark=str(mark)))
    return file


def sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def change(run: Path, changed: Callable[[dict[str, Any]], None]) -> None:
    """Edit a run's settings as its sender could."""
    settings = tomllib.loads((run / SETTINGS).read_text())
    changed(settings)
    (run / SETTINGS).write_text(tomli_w.dumps(settings))


def keep_code(run: Path, file: Path, digest: str = "") -> dict[str, Any]:
    """Put a file into a run as if its job had been given it; returns the table `code` of its settings."""
    (run / "code").mkdir(exist_ok=True)
    shutil.copy(file, run / "code" / file.name)
    return {file.name: {"source": str(file.resolve()), "sha256": digest or sha256(file)}}


def with_space(run: Path, file: Path, digest: str = "") -> Path:
    """The run, with a space that is said to come from a Python file."""
    code = keep_code(run, file, digest)

    def changed(settings: dict[str, Any]) -> None:
        settings["space"]["text"] = str(file)
        settings["code"] = code

    change(run, changed)
    return run


def refused(code: int, line: str, *words: str) -> None:
    assert code == 2
    assert line.startswith("supernetic: ")
    assert [w for w in words if w not in line] == [], line


# --- the space of a run -----------------------------------------------------------------------------------------------

OPENING = {
    "rank": ["rank", "--score", "RUN", "--truth", "mean_acc", "--space", "macro", "--sample", "2", "--sample-top", "0"],
    "derive": ["derive", "RUN", "0,0,0,0,0,0,0,0", "--retrain", "none", "--out", "OUT"],
    "robustness": ["robustness", "RUN", "-n", "2"],
    "train --start": ["train", SPACE, "--start", "RUN", "--steps", "1", "--limit", "300", "--out", "OUT"],
}  # fmt: skip


def filled(arguments: list[str], run: Path, tmp_path: Path) -> list[str]:
    return [{"RUN": str(run), "OUT": str(tmp_path / "out")}.get(a, a) for a in arguments]


@pytest.mark.parametrize("arguments", OPENING.values(), ids=OPENING)
def test_the_space_file_of_a_run_needs_the_flag(
    arguments: list[str], run: Path, evil: Path, mark: Path, tmp_path: Path, command: Command
) -> None:
    given = filled(arguments, with_space(run, evil), tmp_path)
    refused(*command(*given), "evil.py", sha256(evil)[:12], "--trust-code")
    assert not mark.exists()
    command(*given, "--trust-code")
    assert mark.exists()


def test_a_report_does_without_the_space_and_says_so(run: Path, evil: Path, mark: Path, command: Command) -> None:
    with_space(run, evil)
    code, _ = command("report", run)
    assert code == 0
    assert not mark.exists()
    assert (run / "report.html").exists()
    assert command("report", run, "--trust-code")[0] == 0
    assert mark.exists()


def test_a_name_of_a_space_is_no_file_to_run(run: Path, evil: Path, mark: Path, command: Command) -> None:
    def changed(settings: dict[str, Any]) -> None:
        settings["space"] = {"name": str(evil), "fingerprint": settings["space"]["fingerprint"]}

    change(run, changed)
    assert command("report", run)[0] == 0
    assert not mark.exists()


@pytest.mark.parametrize("flag", [(), ("--trust-code",)], ids=["without", "with the flag"])
@pytest.mark.parametrize("arguments", OPENING.values(), ids=OPENING)
def test_changed_code_is_refused_with_the_flag_too(
    arguments: list[str], flag: tuple[str, ...], run: Path, evil: Path, mark: Path, tmp_path: Path, command: Command
) -> None:
    given = filled(arguments, with_space(run, evil, digest="0" * 64), tmp_path)
    refused(*command(*given, *flag), "evil.py")
    assert not mark.exists()


@pytest.mark.parametrize("arguments", OPENING.values(), ids=OPENING)
def test_a_file_that_the_run_keeps_no_copy_of_is_refused_with_the_flag_too(
    arguments: list[str], run: Path, evil: Path, mark: Path, tmp_path: Path, command: Command
) -> None:
    change(run, lambda settings: settings["space"].update(text=str(evil)))
    refused(*command(*filled(arguments, run, tmp_path), "--trust-code"), "evil.py")
    assert not mark.exists()


# --- what a run was asked for -----------------------------------------------------------------------------------------


def asked_of(job: str, evil: Path, tmp_path: Path) -> dict[str, Any]:
    """The settings of a job that was given the file."""
    space = {"data": "embedded", "space": str(evil), "limit": 300}
    if job == "select":
        request = {"data": "embedded", "models": f"mlp,{evil}", "sizes": "20,40", "limit": 300, "workers": 1}
    elif job == "study":
        study = tmp_path / "study.toml"
        base, measure = {"space": str(evil), "steps": 1, "limit": 300}, {"kind": "ranking", "truth": "mean_acc"}
        study.write_text(tomli_w.dumps({"title": "x", "base": base, "measure": measure}))
        request = {"file": str(study), "workers": 1}
    elif job == "search --table":
        job, request = "table-search", {"space": str(evil), "table": "macro"}
    elif job == "search":
        request = {**space, "where": ["macs<=1"]}  # which ends it soon after the space is made
    elif job == "search --baseline":
        job, request = "search", {"data": "embedded", "space": SPACE, "limit": 300, "baselines": [str(evil)]}
    else:
        request = {**space, "steps": 1}
    return {"job": job, "request": request}


JOBS = ["train", "select", "study", "scale", "search", "search --baseline", "search --table"]


@pytest.mark.parametrize("job", JOBS)
def test_resume_runs_nothing_that_a_request_names(
    job: str, evil: Path, mark: Path, tmp_path: Path, command: Command
) -> None:
    settings = asked_of(job, evil, tmp_path)
    run = tmp_path / "run"
    run.mkdir()
    (run / SETTINGS).write_text(tomli_w.dumps({**settings, "code": keep_code(run, evil)}))
    refused(*command("resume", run), "evil.py", sha256(evil)[:12], "--trust-code")
    assert not mark.exists()
    command("resume", run, "--trust-code")
    assert mark.exists()


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished search, and the space and the baseline that it was given."""
    folder = tmp_path_factory.mktemp("searched")
    (folder / "mine.py").write_text(SPACE_FILE.format(mark=str(folder / "mark-space")))
    (folder / "own.py").write_text(BASELINE_FILE.format(mark=str(folder / "mark-baseline")))
    own = ["--space", str(folder / "mine.py"), "--baseline", str(folder / "own.py")]
    cli.main([*SEARCH, *own, "--out", str(folder / "run")])
    return folder


@pytest.fixture
def interrupted(searched: Path, tmp_path: Path) -> Path:
    """Its run, as a kill before the test step leaves it; no mark is there."""
    run = tmp_path / "run"
    shutil.copytree(searched / "run", run)
    for name in ("result.json", "trust.json", "networks.json"):
        (run / name).unlink()
    for name in marks(searched):
        (searched / name).unlink()
    return run


def marks(folder: Path) -> set[str]:
    return {p.name for p in folder.glob("mark-*")}


def test_a_search_is_resumed_with_the_flag_or_with_its_files(
    searched: Path, interrupted: Path, command: Command
) -> None:
    refused(*command("resume", interrupted), "mine.py", "--trust-code")
    assert marks(searched) == set()
    files = {n: (searched / n).rename(searched / f"{n}.away") for n in ("mine.py", "own.py")}
    assert command("resume", interrupted, "--trust-code")[0] == 0  # from the copies alone
    assert marks(searched) == {"mark-space", "mark-baseline"}
    ours, theirs = (json.loads((r / "result.json").read_text()) for r in (interrupted, searched / "run"))
    assert ours["space"] == theirs["space"]
    for name, file in files.items():
        file.rename(searched / name)
    (interrupted / "result.json").unlink()
    own = ["--space", searched / "mine.py", "--baseline", searched / "own.py"]
    assert command(*SEARCH, *own, "--out", interrupted)[0] == 0  # files that this very command names need no flag


def test_a_search_is_not_resumed_with_another_version_of_its_files(
    searched: Path, interrupted: Path, tmp_path: Path, command: Command
) -> None:
    own = ["--space", searched / "mine.py", "--baseline", searched / "own.py"]
    text = (searched / "own.py").read_text()
    try:
        (searched / "own.py").write_text(text + "# another version\n")
        refused(*command(*SEARCH, *own, "--out", interrupted), "other settings", "own.py", "sha256")
    finally:
        (searched / "own.py").write_text(text)


@pytest.mark.parametrize("flag", [(), ("--trust-code",)], ids=["without", "with the flag"])
def test_code_in_the_record_of_a_trained_network_is_refused(
    flag: tuple[str, ...], searched: Path, interrupted: Path, mark: Path, command: Command
) -> None:
    record = {"source": "", "text": BASELINE_FILE.format(mark=str(mark)), "classes": 10, "in_channels": 1}
    for network in (interrupted / "networks").iterdir():

        def changed(settings: dict[str, Any]) -> None:
            settings.pop("blueprint", None)
            settings["baseline"] = {**record, "resolution": 8}

        if (network / SETTINGS).exists():
            change(network, changed)
    own = ["--space", searched / "mine.py", "--baseline", searched / "own.py"]
    refused(*command(*SEARCH, *own, "--out", interrupted, *flag), "networks", "settings")
    assert not mark.exists()


# --- links ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    """A file outside of any run, whose last line has no end."""
    file = tmp_path / "precious.txt"
    file.write_text("first\nlast")
    return file


@pytest.mark.parametrize("name", [".report.html.tmp", "report.html"])
def test_a_report_writes_through_no_link(name: str, run: Path, precious: Path, command: Command) -> None:
    (run / name).symlink_to(precious)
    command("report", run)
    assert precious.read_text() == "first\nlast"


DERIVE = ("0,0,0,0,0,0,0,0", "--retrain", "none")


@pytest.mark.parametrize("name", ["scores.jsonl", "any.jsonl", ".lock", ".run.toml.tmp", "run.toml.bak"])
def test_a_run_with_a_link_to_a_file_is_not_written(name: str, run: Path, precious: Path, command: Command) -> None:
    (run / name).unlink(missing_ok=True)
    (run / name).symlink_to(precious)
    refused(*command("derive", run, *DERIVE), name, "link")
    assert precious.read_text() == "first\nlast"


@pytest.mark.parametrize("name", ["models", "networks", "checkpoints"])
def test_a_run_with_a_link_to_a_directory_is_not_written(
    name: str, run: Path, tmp_path: Path, command: Command
) -> None:
    shutil.rmtree(run / name, ignore_errors=True)
    (tmp_path / "elsewhere").mkdir()
    (run / name).symlink_to(tmp_path / "elsewhere")
    refused(*command("derive", run, *DERIVE), name, "link")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_lock_that_is_a_link_makes_no_file(run: Path, tmp_path: Path, command: Command) -> None:
    (run / ".lock").unlink(missing_ok=True)
    (run / ".lock").symlink_to(tmp_path / "new")
    refused(*command("derive", run, *DERIVE), ".lock", "link")
    assert not (tmp_path / "new").exists()


def test_a_pipe_in_a_run_is_not_waited_for(run: Path, command: Command) -> None:
    os.mkfifo(run / "any.jsonl")
    refused(*command("derive", run, *DERIVE), "any.jsonl")


def test_a_run_may_be_reached_through_a_link(run: Path, tmp_path: Path, command: Command) -> None:
    (tmp_path / "link").symlink_to(run)
    assert command("derive", tmp_path / "link", *DERIVE)[0] == 0
    assert list((run / "models").glob("*/model.json"))


# --- hard links -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["any.jsonl", "timings.jsonl", "metrics.jsonl", "scores.jsonl", "run.toml", ".lock"])
def test_a_file_with_another_name_elsewhere_is_not_changed_there(
    name: str, run: Path, tmp_path: Path, command: Command
) -> None:
    elsewhere = run.parent / "elsewhere"
    (run / name).touch()
    with open(run / name, "ab") as file:
        file.write(b"# torn")  # which opening a run cuts off
    (run / name).rename(elsewhere)
    os.link(elsewhere, run / name)
    before = elsewhere.read_bytes()
    assert command(*filled(OPENING["rank"], run, tmp_path))[0] == 0
    assert elsewhere.read_bytes() == before


def test_records_are_added_to_a_copy_of_a_hard_link(searched: Path, interrupted: Path, command: Command) -> None:
    file, other = interrupted / "timings.jsonl", interrupted.parent / "timings.jsonl"
    os.link(file, other)
    before = other.read_bytes()
    assert command("resume", interrupted, "--trust-code")[0] == 0
    assert other.read_bytes() == before
    assert file.read_bytes().startswith(before)
    assert len(file.read_bytes()) > len(before)


# --- links to code, and in the middle of a path -----------------------------------------------------------------------


@pytest.mark.parametrize("how", ["the file", "the folder", "a pipe", "a hard link"])
@pytest.mark.parametrize("flag", [(), ("--trust-code",)], ids=["without", "with the flag"])
def test_code_is_reached_through_no_link(
    how: str, flag: tuple[str, ...], run: Path, evil: Path, mark: Path, tmp_path: Path, command: Command
) -> None:
    """Its digest is right: what is refused is the way to it. A hard link is a file like any other."""
    kept = with_space(run, evil) / "code"
    if how == "the folder":
        kept.rename(tmp_path / "elsewhere")
        kept.symlink_to(tmp_path / "elsewhere")
    else:
        (kept / evil.name).unlink()
        make = {
            "the file": kept.joinpath(evil.name).symlink_to,
            "a hard link": lambda to: os.link(to, kept / evil.name),
        }
        make.get(how, lambda _: os.mkfifo(kept / evil.name))(evil)
    code, line = command(*filled(OPENING["rank"], run, tmp_path), *flag)
    if flag and how == "a hard link":
        assert mark.exists()
    else:
        refused(code, line, "code")
        assert not mark.exists()


def test_code_that_is_swapped_after_it_was_read_is_not_run(
    run: Path, evil: Path, mark: Path, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    from supernetic.runs import trust

    good = tmp_path / "good.py"
    good.write_text(SPACE_FILE.format(mark=str(tmp_path / "good-mark")))
    kept = with_space(run, good) / "code" / "good.py"
    real: Callable[[Path, Path], bytes] = vars(trust)["read_plain_file"]

    def swapping(run: Path, file: Path) -> bytes:
        data = real(run, file)
        shutil.copy(evil, kept)  # between the check of its digest and its use
        return data

    monkeypatch.setattr(trust, "read_plain_file", swapping)
    command(*filled(OPENING["rank"], run, tmp_path), "--trust-code")
    assert (tmp_path / "good-mark").exists()  # what was checked is what was run
    assert not mark.exists()


def test_weights_that_are_swapped_after_they_were_checked_are_refused(
    searched: Path, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    from safetensors.torch import load, save

    from supernetic.exporters import model

    (source,) = (searched / "run" / "models").iterdir()
    copy = tmp_path / "model"
    shutil.copytree(source, copy)
    other = save({name: tensor + 1 for name, tensor in load((copy / model.WEIGHTS).read_bytes()).items()})
    real = model._read

    def swapping(path: Path) -> bytes:
        data = real(path)
        if path.name == model.WEIGHTS:
            path.write_bytes(other)
        return data

    monkeypatch.setattr(model, "_read", swapping)
    refused(*command("export", copy, "--out", tmp_path), model.WEIGHTS, "checksum")


@pytest.mark.parametrize("name", ["models", "models/model-1", "networks", "int8", "checkpoints"])
@pytest.mark.parametrize("verb", ["export", "report", "finish", "resume"])
def test_no_command_writes_through_a_link_in_the_middle(
    verb: str, name: str, searched: Path, tmp_path: Path, command: Command
) -> None:
    run, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    shutil.copytree(searched / "run", run)
    (elsewhere / "inner").mkdir(parents=True)
    shutil.rmtree(run / name, ignore_errors=True)
    (run / name).symlink_to(elsewhere)
    if verb == "resume":
        (run / "result.json").unlink()
    more = {"finish": ["model-1", "--steps", "1"], "resume": ["--trust-code"]}.get(verb, [])
    refused(*command(verb, run, *more), name, "link")
    assert [p.name for p in elsewhere.rglob("*")] == ["inner"]


# --- the trainings beside a study -------------------------------------------------------------------------------------

STUDY = """
title = "Tiny"
seeds = [0]
[base]
space = "macro:channels=4,resolution=8,head=16"
limit = 300
recipe = { length = "2 steps", batch_size = 16, lr = 0.1 }
[measure]
kind = "ranking"
truth = "mean_acc"
valid = 20
random = 20
sizes = [5, 10]
points = 20
"""


@pytest.fixture(scope="module")
def studied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a study's file, its run, and its training beside that."""
    folder = tmp_path_factory.mktemp("studied")
    (folder / "study.toml").write_text(STUDY)
    cli.main(["study", str(folder / "study.toml"), "-q", "--out", str(folder / "received" / "run")])
    return folder


@pytest.fixture
def received(studied: Path, tmp_path: Path) -> Path:
    """A copy of both, as someone could send it."""
    shutil.copytree(studied / "received", tmp_path / "received", ignore=shutil.ignore_patterns("*.lock"))
    return tmp_path / "received"


def training_of(received: Path) -> Path:
    (training,) = (p for p in (received / "trainings").iterdir() if not p.name.startswith("."))
    return training


def test_a_received_study_goes_on_with_what_is_beside_it(received: Path, command: Command) -> None:
    before = (training_of(received) / "supernet.safetensors").stat().st_mtime_ns
    assert command("resume", received / "run")[0] == 0
    assert (training_of(received) / "supernet.safetensors").stat().st_mtime_ns == before


@pytest.mark.parametrize("what", ["all", "training", "lock", "inside"])
def test_the_trainings_of_a_received_study_are_no_links(
    what: str, received: Path, tmp_path: Path, command: Command
) -> None:
    elsewhere = tmp_path / "elsewhere"
    training = training_of(received)
    if what == "lock":
        linked = training.with_name(f".{training.name}.lock")
        linked.unlink(missing_ok=True)
    else:
        linked = {"all": training.parent, "training": training, "inside": training / "scores.jsonl"}[what]
        linked.rename(elsewhere)
    linked.symlink_to(elsewhere)
    before = {p: p.stat().st_mtime_ns for p in (elsewhere, *elsewhere.rglob("*")) if p.exists()}
    code, line = command("resume", received / "run")
    assert code != 0
    assert "link" in line
    assert {p: p.stat().st_mtime_ns for p in (elsewhere, *elsewhere.rglob("*")) if p.exists()} == before


def test_a_folder_of_trainings_of_ones_own_may_be_a_link(
    studied: Path, received: Path, tmp_path: Path, command: Command
) -> None:
    (received / "trainings").rename(tmp_path / "larger-disk")
    (received / "trainings").symlink_to(tmp_path / "larger-disk")
    assert command("study", studied / "study.toml", "-q", "--out", received / "run")[0] == 0


def test_code_that_a_training_beside_a_study_names_needs_the_flag(
    received: Path, evil: Path, mark: Path, command: Command
) -> None:
    training = with_space(training_of(received), evil)
    (training / "scores.jsonl").unlink()
    (training / "measured.jsonl").unlink(missing_ok=True)
    code, line = command("resume", received / "run")
    assert code != 0
    assert "evil.py" in line
    assert "--trust-code" in line
    assert not mark.exists()
    command("resume", received / "run", "--trust-code")
    assert mark.exists()


# --- digests ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "digest", ["missing", "empty", "upper", "sha1", "md5", "sha512", "cut", "list", "another file"]
)
def test_code_with_a_digest_that_does_not_fit_is_not_run(
    digest: str, run: Path, evil: Path, mark: Path, tmp_path: Path, command: Command
) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(SPACE_FILE.format(mark=str(tmp_path / "my-mark")))
    data, right = evil.read_bytes(), sha256(evil)
    others: dict[str, object] = {
        "empty": "", "upper": right.upper(), "cut": right[:16], "list": [right], "another file": sha256(mine),
    }  # fmt: skip
    given = (
        others[digest] if digest in others else None if digest == "missing" else hashlib.new(digest, data).hexdigest()
    )

    def changed(settings: dict[str, Any]) -> None:
        entry = settings["code"][evil.name]
        entry.pop("sha256")
        if given is not None:
            entry["sha256"] = given

    change(with_space(run, evil), changed)
    rank = filled(OPENING["rank"], run, tmp_path)
    refused(*command(*rank, "--trust-code"), "evil.py")
    if digest == "another file":  # a file that the very same call names, and may run
        rank[rank.index("macro")] = str(mine)
        assert command(*rank)[0] == 2
        assert (tmp_path / "my-mark").exists()
    assert not mark.exists()


@pytest.mark.parametrize("name", [n for n in BAD_NAMES if isinstance(n, str)], ids=lambda name: repr(name)[:24])
def test_names_of_code_stay_inside(
    name: str, run: Path, evil: Path, mark: Path, tmp_path: Path, command: Command
) -> None:
    def changed(settings: dict[str, Any]) -> None:
        settings["code"][f"{name}.py"] = settings["code"].pop(evil.name)

    change(with_space(run, evil), changed)
    for place in (run / "code", run, run.parent):
        shutil.copy(evil, place / "escaped.py")
    refused(*command(*filled(OPENING["rank"], run, tmp_path), "--trust-code"))
    assert not mark.exists()


@pytest.mark.parametrize("digest", ["missing", "wrong", "md5", "another file", "number"])
@pytest.mark.parametrize("verb", ["export", "predict", "latency"])
def test_a_model_whose_digests_do_not_fit_is_refused(
    verb: str, digest: str, searched: Path, tmp_path: Path, command: Command
) -> None:
    from supernetic.exporters.model import RECORD, WEIGHTS, _own_digest

    (source,) = (searched / "run" / "models").iterdir()
    model = tmp_path / "model"
    shutil.copytree(source, model)
    record = json.loads((model / RECORD).read_text())
    if digest == "missing":
        del record["sha256"][WEIGHTS]
    else:
        md5 = hashlib.md5((model / WEIGHTS).read_bytes(), usedforsecurity=False).hexdigest()
        others: dict[str, object] = {"wrong": "0" * 64, "md5": md5, "another file": record["sha256"]["labels.txt"]}
        record["sha256"][WEIGHTS] = others.get(digest, 3)
    record["sha256"][RECORD] = _own_digest(record)
    (model / RECORD).write_text(json.dumps(record))
    more: dict[str, list[object]] = {"predict": [tmp_path / "image.png"], "latency": ["--engine", "eager", "-q"]}
    refused(*command(verb, model, *more.get(verb, [])), "model")


@pytest.mark.parametrize("notes", ["{}", '{"sha256": null}', '{"sha256": "0"}', "[]", "3", "x", None])
def test_weights_of_a_run_whose_checksum_does_not_fit_are_refused(
    notes: str | None, run: Path, tmp_path: Path, command: Command
) -> None:
    from safetensors.torch import load, save

    file = run / "supernet.safetensors"
    file.write_bytes(save(load(file.read_bytes()), None if notes is None else {"supernetic": notes}))
    refused(*command("derive", run, *DERIVE, "--out", tmp_path / "out"), "supernet.safetensors")
    assert not list((tmp_path / "out").glob("*"))


@pytest.mark.parametrize("verb", ["rank", "derive", "train --start"])
def test_a_pipe_in_the_place_of_weights_is_not_waited_for(
    verb: str, run: Path, tmp_path: Path, command: Command
) -> None:
    (run / "supernet.safetensors").unlink()
    os.mkfifo(run / "supernet.safetensors")
    refused(*command(*filled(OPENING[verb], run, tmp_path)), "supernet.safetensors")


# --- names ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BAD_NAMES, ids=lambda name: repr(name)[:24])
def test_names_in_networks_json_stay_inside(name: object, searched: Path, tmp_path: Path, command: Command) -> None:
    run = tmp_path / "a" / "run"
    shutil.copytree(searched / "run", run)
    records = json.loads((run / "networks.json").read_text())
    records[0]["name"] = name
    (run / "networks.json").write_text(json.dumps(records))
    refused(*command("export", run), "networks.json", "name")
    assert not list(tmp_path.rglob("escaped*"))


@pytest.mark.parametrize("key", ["../../other", "0" * 16])
def test_keys_in_networks_json_are_those_of_their_trainings(
    key: str, searched: Path, tmp_path: Path, command: Command
) -> None:
    run = tmp_path / "a" / "run"
    shutil.copytree(searched / "run", run)
    records = json.loads((run / "networks.json").read_text())
    shutil.copytree(run / "networks" / records[0]["key"], run / "networks" / key)
    records[0]["key"] = key
    (run / "networks.json").write_text(json.dumps(records))
    refused(*command("export", run, "--name", records[0]["name"]), "key" if "." in key else "settings")


@pytest.mark.parametrize("name", BAD_NAMES, ids=lambda name: repr(name)[:24])
def test_the_name_in_model_json_stays_inside(name: object, searched: Path, tmp_path: Path, command: Command) -> None:
    from supernetic.exporters.model import RECORD, _own_digest

    (source,) = (searched / "run" / "models").iterdir()
    model = tmp_path / "model"
    shutil.copytree(source, model)
    record = json.loads((model / RECORD).read_text())
    record["name"] = name
    record["sha256"][RECORD] = _own_digest(record)
    (model / RECORD).write_text(json.dumps(record))
    (tmp_path / "out").mkdir()
    refused(*command("export", model, "--out", tmp_path / "out"), "model.json", "name")
    assert not list(tmp_path.rglob("*escaped*"))


def test_files_that_model_json_lists_stay_inside(searched: Path, tmp_path: Path, command: Command) -> None:
    from supernetic.exporters.model import RECORD, _own_digest

    (source,) = (searched / "run" / "models").iterdir()
    model = tmp_path / "model"
    shutil.copytree(source, model)
    (tmp_path / "secret").write_text("secret")
    record = json.loads((model / RECORD).read_text())
    record["sha256"]["../secret"] = sha256(tmp_path / "secret")
    record["sha256"][RECORD] = _own_digest(record)
    (model / RECORD).write_text(json.dumps(record))
    refused(*command("export", model), "../secret")


def test_names_in_a_report_are_text(searched: Path, tmp_path: Path, command: Command) -> None:
    run = tmp_path / "run"
    shutil.copytree(searched / "run", run)
    bad = "<script>alert(1)</script>"
    records = json.loads((run / "networks.json").read_text())
    for record in records:
        record["label"] = record["role"] = bad
    (run / "networks.json").write_text(json.dumps(records))
    change(run, lambda settings: settings["data"].update(name=bad))
    assert command("report", run)[0] == 0
    page = (run / "report.html").read_text()
    assert "alert(1)" in page
    assert bad not in page
