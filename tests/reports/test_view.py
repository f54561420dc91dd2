from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from supernetic import pareto
from supernetic.costs import cost
from supernetic.errors import RunError
from supernetic.objective import parse_objective
from supernetic.runs.view import read_run
from supernetic.space import Space

Make = Callable[..., Path]


def test_a_finished_run_is_read_in_full(make: Make, space: Space) -> None:
    run = read_run(make(), space)
    assert run.job == "search"
    assert [m.name for m in run.chosen] == ["model-1", "model-2", "model-3"]
    assert {m.role for m in run.controls} == {"random", "largest", "mobilenet"}
    assert run.cost.name == "cost/macs"
    assert (run.score.name, run.score.maximise) == ("valid/cross_entropy", False)
    assert run.splits == {"train": 12_000, "valid": 4_000, "test": 2_000}
    assert sum(run.statuses.values()) == len((run.path / "trials.jsonl").read_text().splitlines())
    assert run.statuses["ok"] == len(run.trials)
    for m in run.chosen:
        assert m.blueprint is not None
        assert cost(m.blueprint).macs == m.macs
        assert "model.onnx" in m.files


def test_every_file_may_be_missing(make: Make, space: Space) -> None:
    """What it holds is unknown then, and all that other files hold is known."""
    whole = make()
    lost = {
        "run.toml": {"settings"}, "splits.json": {"splits"}, "timings.jsonl": {"seconds"}, "metrics.jsonl": {"curves"},
        "trials.jsonl": {"trials", "statuses", "sampled"}, "trust.json": {"trust"},
        "search.json": {"search", "first", "trials", "sampled"}, "networks.json": {"models", "networks", "curves"},
        "networks": {"curves", "trained"}, "models": {"models"}, "supernet.safetensors": set(),
    }  # fmt: skip
    assert {p.name for p in whole.iterdir()} == set(lost)
    every = read_run(whole, space)
    for name, fields in lost.items():
        part = whole.parent / f"without-{name}"
        shutil.copytree(whole, part)
        (shutil.rmtree if (part / name).is_dir() else Path.unlink)(part / name)
        found = read_run(part, space)
        names = {f.name for f in dataclasses.fields(found)}
        assert {n for n in names if getattr(found, n) != getattr(every, n)} == {"path"} | fields, name


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no run directory"):
        read_run(tmp_path / "nowhere")
    with pytest.raises(RunError, match=r"is not a run: it has no run\.toml"):
        read_run(tmp_path)


def test_a_damaged_file_is_named(make: Make) -> None:
    path = make()
    (path / "trust.json").write_text("{")
    with pytest.raises(RunError, match=r"trust\.json is damaged"):
        read_run(path)


def test_the_front_is_found_while_the_search_goes_on(make: Make, space: Space) -> None:
    path = make(until="search")
    recorded = {t.arch for t in read_run(path, space).trials if t.level}
    (path / "search.json").unlink()
    run = read_run(path, space)
    assert {t.arch for t in run.trials if t.level} == recorded
    assert not any(t.level == 2 for t in run.trials)
    metrics = [t.metrics for t in run.trials]
    points = pareto.points(metrics, [parse_objective(o) for o in run.settings["objectives"]])
    assert len(pareto.front(points)) == len(recorded)


def test_generations_are_counted_again_if_they_were_not_recorded(make: Make) -> None:
    path = make(until="search")
    search = json.loads((path / "search.json").read_text())
    del search["generations"]
    (path / "search.json").write_text(json.dumps(search))
    last = read_run(path).generations[-1]
    assert last["front"] == len(search["front"])
    assert last["hypervolume"] == pytest.approx(search["hypervolume"])


def test_the_first_generation_leaves_out_what_broke_a_limit(make: Make) -> None:
    run = read_run(make())
    records = [json.loads(line) for line in (run.path / "trials.jsonl").read_text().splitlines()]
    good = [tuple(r["arch"]) for r in records[: run.first] if r["status"] == "ok"]
    assert [t.arch for t in run.sampled] == good
    assert len(good) < run.first


def test_steps_are_timed_by_their_parts_until_they_are_over(make: Make) -> None:
    path = make()
    assert read_run(path).seconds["search"] == 58.4
    lines = [x for x in (path / "timings.jsonl").read_text().splitlines() if '"search"' not in x and '"train"' not in x]
    lines += ['{"task":"supernet","step":500,"seconds":30.0}', '{"task":"supernet","step":1000,"seconds":31.5}']
    (path / "timings.jsonl").write_text("\n".join(lines) + "\n")
    seconds = read_run(path).seconds
    assert seconds["search"] == 50.0
    assert seconds["train"] == 61.5


def test_a_model_is_as_good_as_the_weights_that_are_exported(make: Make) -> None:
    path = make()
    networks = json.loads((path / "networks.json").read_text())
    networks[0] |= {"weights": "inherited", "inherited": {"test/accuracy": 71.0}}
    networks[1] |= {"weights": "trained", "inherited": {"test/accuracy": 71.0}}
    (path / "networks.json").write_text(json.dumps(networks))
    inherited, trained = read_run(path).chosen[:2]
    assert inherited.accuracy == 71.0
    assert trained.accuracy == networks[1]["test"]["test/accuracy"]


def test_costs_are_no_scores(make: Make) -> None:
    path = make()
    networks = json.loads((path / "networks.json").read_text())
    networks[0]["score"]["cost/macs"] = networks[0]["macs"]
    (path / "networks.json").write_text(json.dumps(networks))
    assert set(read_run(path).chosen[0].score) == {"valid/cross_entropy", "valid/accuracy"}


def test_trained_networks_are_shown_before_they_are_tested(make: Make) -> None:
    path = make()
    networks = json.loads((path / "networks.json").read_text())
    trained = [{k: v for k, v in n.items() if k not in ("test", "inherited", "latency")} for n in networks]
    (path / "networks.json").unlink()
    (path / "trained.json").write_text(json.dumps(trained))
    run = read_run(path)
    assert [m.name for m in run.models] == [n["name"] for n in networks]
    assert [m.trained for m in run.models] == [n["trained"] for n in networks]
    assert not any(m.test for m in run.models)
    assert run.curves[1].name == "model-1"
    trained[0]["trained"] = {"valid/accuracy": 1.0}
    (path / "trained.json").write_text(json.dumps(trained))
    (path / "networks.json").write_text(json.dumps(networks))
    assert read_run(path).models[0].trained == networks[0]["trained"], "networks.json is the later of the two"


def test_curves_bear_the_names_of_their_models(make: Make) -> None:
    done, going = read_run(make("done")), read_run(make("going", until="compare"))
    assert [c.name for c in done.curves[:2]] == ["supernet", "model-1"]
    assert len(going.curves) == len(done.curves) == 9
    assert going.curves[1].name.startswith("network ")


def test_a_network_that_could_leave_its_directory_is_refused(make: Make) -> None:
    path = make()
    networks = json.loads((path / "networks.json").read_text())
    networks[3]["name"] = "../../elsewhere"
    (path / "networks.json").write_text(json.dumps(networks))
    with pytest.raises(RunError, match=r"networks\.json: a network: name must be a name of .*, got '../../elsewhere'"):
        read_run(path)


def test_a_candidate_that_lost_is_neither_a_model_nor_a_control(make: Make) -> None:
    run = read_run(make(race=True))
    assert [m.name for m in run.chosen] == ["model-1", "model-2"]
    assert "candidate-2" not in {m.name for m in run.controls}
    assert run.recommended is not None
    assert run.recommended.name == "model-1"
    assert read_run(make("old")).recommended is None
    went_on = [m.name for m in run.models if m.went_on]
    assert went_on == ["model-1"]
    others = [m for m in run.models if m.name not in went_on]
    assert all((m.first, m.first_test) == (m.trained, m.test) for m in others), "their only round is the first"
