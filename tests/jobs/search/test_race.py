"""Rounds, the winner, what is handed over beside it, and decisions that are made once. Trainings are made up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import nan
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from supernetic.errors import RunError
from supernetic.hardware import CPU, Hardware
from supernetic.jobs.compare.candidates import Candidate
from supernetic.jobs.compare.last_training import MIN_ROUND_STEPS, decided
from supernetic.jobs.compare.train import inherited_file
from supernetic.jobs.search.forecast import later_error
from supernetic.jobs.search.plan import SearchPlan
from supernetic.jobs.search.race import Race
from supernetic.jobs.search.teacher import Teacher
from supernetic.jobs.time_plan import PLANNED_SHARE
from supernetic.networks.baselines import Baseline
from supernetic.networks.pool import Trained
from supernetic.progress import Event, ignore
from supernetic.runs.directory import Run, open_run
from supernetic.runs.files import DECISIONS, TIMINGS, TRAINED_NETWORKS
from supernetic.runs.records import NetworkRecord, TeacherRecord, networks_text, read_trained_networks
from supernetic.spaces.macro import Macro

ACCURACY = "valid/accuracy"
PLAN = SearchPlan(
    supernet_steps=0,
    population=4,
    generations=3,
    networks=6,
    network_steps=0,
    workers=2,
    models=3,
    rounds=(10.0, 20.0, 40.0),
    sizes=(6, 3, 2),
    cheaper=30.0,
    finish=100.0,
    limit=600.0,
    seconds={"test": 10.0, "export": 20.0},
)
BLUEPRINT = Macro(channels=4, resolution=8, head=16).blueprint((0,) * 8)
PACE = 0.1  # seconds per step of every network


@dataclass
class Trainings:
    """Stands for processors: what networks gain by being trained further, and what was trained."""

    gains: dict[str, float] = field(default_factory=dict)  # points of accuracy by name
    diverging: set[str] = field(default_factory=set)
    broken_at: int = 0  # the call that is killed
    calls: list[dict[str, tuple[int, int]]] = field(default_factory=list)  # steps and processes by name
    parts: list[tuple[float, float]] = field(default_factory=list)  # of the schedule, by call
    accuracy: dict[str, float] = field(default_factory=dict)  # by key
    metric: str = ACCURACY  # that decides
    targets: list[Path | None] = field(default_factory=list)  # of a teacher, by training

    def training(
        self,
        network: str,
        steps: int,
        start: Path,
        processes: int,
        part: tuple[float, float],
        earlier: int,
        targets: Path | None,
    ) -> Any:
        name = network.partition("+")[0]
        assert earlier == 1 + network.count("+")
        self.targets.append(targets)
        return SimpleNamespace(name=name, steps=steps, start=start, processes=processes, part=part)

    def train_all(self, trainings: Sequence[Any], directory: Path, **_: Any) -> list[Trained]:
        if len(self.calls) + 1 == self.broken_at:
            raise KeyboardInterrupt
        self.calls.append({t.name: (t.steps, t.processes) for t in trainings})
        self.parts.append(trainings[0].part)
        return [self._train(t, directory) for t in trainings]

    def _train(self, t: Any, directory: Path) -> Trained:
        before, key = t.start.parent.name, f"{t.start.parent.name}+"
        if t.name in self.diverging:
            return Trained(key, directory / key, {self.metric: nan}, "training diverged")
        self.accuracy[key] = self.accuracy[before] + self.gains.get(t.name, 0.0)
        return Trained(key, directory / key, {self.metric: self.accuracy[key]})


@pytest.fixture
def trainings(monkeypatch: pytest.MonkeyPatch) -> Trainings:
    made = Trainings()
    monkeypatch.setattr("supernetic.networks.pool.train_all", made.train_all)
    monkeypatch.setattr("supernetic.networks.pool.training_seconds", lambda path: (100 * PACE, 100))
    monkeypatch.setattr("supernetic.jobs.search.race._blueprint", lambda path: path.name)
    monkeypatch.setattr("supernetic.jobs.search.race.together_seconds", lambda *_: PACE)
    monkeypatch.setattr("supernetic.jobs.search.race.CLEAR_LEAD", 1000.0)  # all rounds, but for the test about leads
    monkeypatch.setattr(
        "supernetic.jobs.compare.last_training.PART_S", 1000.0
    )  # one part, but for the tests about parts
    return made


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    with open_run(tmp_path / "run", {"job": "search"}) as opened:
        yield opened


def record(name: str, accuracy: float, macs: int = 1000, role: str = "chosen", **more: Any) -> NetworkRecord:
    trained = {ACCURACY: accuracy, "valid/cross_entropy": 1.0}
    return NetworkRecord(name, role, macs=macs, key=name, trained=trained, steps=100, against="x", **more)


def finished(
    trainings: Trainings,
    run: Run,
    records: Sequence[NetworkRecord],
    plan: SearchPlan = PLAN,
    send: Callable[[Event], None] = ignore,
    **settings: Any,
) -> dict[str, NetworkRecord]:
    """The records after the step `finish`, by name."""
    run.write(TRAINED_NETWORKS, networks_text(records))
    trainings.accuracy |= {str(r.key): (r.trained or {}).get(trainings.metric) or 0.0 for r in records}
    race(trainings, plan, **settings).finish(run, send)
    return {r.name: r for r in read_trained_networks(run.path)}


def race(
    trainings: Trainings, plan: SearchPlan = PLAN, keep: int = 1, evidence: str = "short", hardware: Hardware = CPU
) -> Race:
    dataset = SimpleNamespace(classes=tuple("0123456789"), splits={"train": range(100 * 128)})
    recipe = SimpleNamespace(batch_size=128, schedule="linear")
    comparison: Any = SimpleNamespace(
        dataset=dataset, recipe=recipe, training=trainings.training, hardware=hardware, decides=trainings.metric
    )
    return Race(comparison, plan, keep, evidence)


FIELD = [
    record("candidate-1", 50),
    record("candidate-2", 60),
    record("candidate-3", 70),
    record("plain", 65, role="plain"),
    record("random-1", 40, role="random"),
    record("baseline", 99, role="baseline"),
]


def test_another_metric_may_decide(trainings: Trainings, run: Run) -> None:
    """The network with the best accuracy has the worst F1."""
    trainings.metric = "valid/f1"
    f1 = {"candidate-1": 50.0, "candidate-2": 40.0, "candidate-3": 30.0, "plain": 35.0, "random-1": 60.0}
    field = [replace(r, trained={**(r.trained or {}), "valid/f1": f1[r.name]}) for r in FIELD if r.name in f1]
    after = finished(trainings, run, field)
    assert [set(call) for call in trainings.calls[:2]] == [
        {"random-1", "candidate-1", "candidate-2"},
        {"random-1", "candidate-1"},
    ]
    assert after["model-1"].first_key == "random-1"


def test_all_trainings_of_a_network_are_recorded_in_their_order(trainings: Trainings, run: Run) -> None:
    after = finished(trainings, run, FIELD)
    model = after["model-1"]
    assert model.trainings == model.keys
    assert model.trainings[0] == model.first_key
    assert model.trainings[-1] == model.key
    assert [len(k) for k in model.trainings] == sorted({len(k) for k in model.trainings})  # each goes on from the last
    assert after["random-1"].trainings == ("random-1",)
    assert after["random-1"].keys is None


# --- prospects --------------------------------------------------------------------------------------------------------


def fast_and_slow(epochs: int) -> list[NetworkRecord]:
    fast = [replace(record(f"fast-{i}", accuracy), steps=1000 * epochs) for i, accuracy in enumerate((57, 60, 59))]
    slow = [replace(record(f"slow-{i}", accuracy), steps=100 * epochs) for i, accuracy in enumerate((40, 50, 48))]
    return [*fast, *slow]


def test_the_errors_to_be_expected_decide(trainings: Trainings, run: Run) -> None:
    """Slow networks are behind after the first round, and are expected to be ahead at the end."""
    trainings.gains |= {"slow-1": 2, "slow-2": 6, "fast-1": 0.5}
    plan = replace(PLAN, sizes=(6, 4, 2))
    after = finished(trainings, run, fast_and_slow(epochs=2), plan)
    assert [set(call) for call in trainings.calls[:2]] == [
        {"slow-1", "slow-2", "slow-0", "fast-1"},
        {"slow-1", "slow-2"},  # hardly behind after a tenth of the epochs
    ]
    assert next(iter(trainings.calls[2])) == "slow-2"  # leads the last training
    assert after["model-1"].key == "slow-2+++"


def test_a_slower_network_that_has_learnt_less_is_not_preferred_for_being_slow(trainings: Trainings, run: Run) -> None:
    """The race once dropped the network that would have won, since others were slightly slower and worse."""
    field = [("largest", 47.38, 145), ("worse", 41.66, 122), ("other", 42.72, 122), ("idle", 16.72, 124)]
    records = [replace(record(name, accuracy), steps=steps) for name, accuracy, steps in field]
    finished(trainings, run, records, replace(PLAN, sizes=(4, 2), rounds=(10.0, 20.0)))
    assert set(trainings.calls[0]) == {"largest", "other"}


def test_a_clear_lead_ends_the_race(trainings: Trainings, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time of the round that is left out trains the winner."""
    monkeypatch.setattr("supernetic.jobs.search.race.CLEAR_LEAD", 1.5)
    trainings.gains |= {"slow-1": 9, "fast-1": 0.5}
    said: list[str] = []
    plan = replace(PLAN, sizes=(6, 4, 2))
    finished(trainings, run, fast_and_slow(epochs=2), plan, send=lambda event: said.append(event.text))
    assert [set(call) for call in trainings.calls] == [
        {"slow-1", "slow-2", "slow-0", "fast-1"},
        {"slow-1", "slow-2"},  # the last training, each by one process
    ]
    assert any("slow-1 is expected to be" in text and "no further round is needed" in text for text in said)


def test_processes_join_for_the_network_with_the_best_prospects(
    trainings: Trainings, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two networks trained to the end would each get half of what both processes can do for one."""
    monkeypatch.setattr("supernetic.jobs.search.race.together_seconds", lambda *_: 0.5 * PACE)
    fast, slow = replace(record("fast", 60), steps=2000), replace(record("slow", 59), steps=200)
    trainings.gains |= {"fast": 8, "slow": 8}
    finished(trainings, run, [fast, slow], replace(PLAN, sizes=(2, 2), rounds=(10.0, 20.0)))
    (last,) = trainings.calls[-1].items()
    assert last[0] == "slow"  # as good after a tenth of the epochs
    assert last[1][1] == 2


def test_where_nobody_learns_any_more_accuracy_decides(trainings: Trainings, run: Run) -> None:
    finished(trainings, run, fast_and_slow(epochs=1000), replace(PLAN, sizes=(6, 3, 2)))
    assert set(trainings.calls[0]) == {"fast-0", "fast-1", "fast-2"}


def test_errors_of_the_future() -> None:
    assert later_error(20, epochs=2, growth=4) == pytest.approx(20 * 4**-0.29)
    assert later_error(20, epochs=18.5, growth=4) == pytest.approx(20 * 2**-0.29)  # flat after 37 epochs
    assert later_error(20, epochs=40, growth=4) == 20
    assert later_error(20, epochs=2, growth=4, pace=0.5) < later_error(20, epochs=2, growth=4)  # the slow fall further
    assert later_error(20, epochs=2, growth=4, pace=1e9) <= 20
    assert later_error(20, epochs=5, growth=1) == 20
    assert later_error(0, epochs=5, growth=4) == 0
    assert later_error(20, epochs=0, growth=4) == 20


# --- decisions --------------------------------------------------------------------------------------------------------


def test_a_decision_is_made_once(tmp_path: Path) -> None:
    asked: list[int] = []

    def decide(answer: int) -> Callable[[], Mapping[str, int]]:
        def look_at_the_clock() -> Mapping[str, int]:
            asked.append(answer)
            return {"a": answer}

        return look_at_the_clock

    with open_run(tmp_path / "run", {"job": "search"}) as run:
        assert decided(run, "round-1", decide(5)) == {"a": 5}
        assert decided(run, "round-1", decide(6)) == {"a": 5}
        assert decided(run, "round-2", decide(7)) == {"a": 7}
    with open_run(tmp_path / "run", {"job": "search"}) as run:
        assert decided(run, "round-1", decide(8)) == {"a": 5}
        assert [r["decision"] for r in run.read(DECISIONS)] == ["round-1", "round-2"]
    assert asked == [5, 7]


@pytest.mark.parametrize("broken_at", [1, 2, 3, 4])
def test_killed_in_a_round_it_goes_on_as_it_was_decided(
    broken_at: int, trainings: Trainings, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    cheap = replace(FIELD[0], macs=10, trained={ACCURACY: 69.0})
    records = [cheap, *FIELD[1:]]
    trainings.broken_at = broken_at
    with pytest.raises(KeyboardInterrupt):
        finished(trainings, run, records, keep=2)
    told = run.read(DECISIONS)
    assert len(told) == broken_at
    monkeypatch.setattr("supernetic.networks.pool.training_seconds", lambda path: (100.0, 1))  # another machine
    again = Trainings()
    monkeypatch.setattr("supernetic.networks.pool.train_all", again.train_all)
    found = finished(again, run, records, keep=2)
    assert run.read(DECISIONS)[:broken_at] == told
    assert [r["decision"] for r in run.read(DECISIONS)] == ["round-2", "round-3", "cheaper", "finish-1"]
    for call, decision in zip(again.calls, run.read(DECISIONS), strict=True):
        assert {n: s for n, (s, _) in call.items()} == {n: s for n, s in decision["steps"].items() if n != "processes"}
    assert found["model-1"].recommended


# --- the first round --------------------------------------------------------------------------------------------------


def entry(name: str, network: Any = BLUEPRINT) -> Candidate:
    return Candidate(name, "chosen", "", network, 1, 1)


def test_the_first_round_is_equal_in_time(trainings: Trainings, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    paces = [0.01, 0.02, 0.04, 5.0]
    monkeypatch.setattr(
        "supernetic.jobs.search.race.step_seconds", lambda blueprints, *_, **__: paces[: len(blueprints)]
    )
    mine = entry("baseline", Baseline("mine.py", "", 10, 1, 8))
    entries = [entry("a"), mine, entry("b"), entry("c")]
    steps = race(trainings).first_lengths(run, entries)
    assert steps == {"a": 1000, "b": 500, "c": 250, "baseline": 250}  # a module of the user's is not timed
    paces[:] = [1.0] * 4
    assert race(trainings).first_lengths(run, entries) == steps


def test_slow_networks_are_trained_for_a_few_steps(
    trainings: Trainings, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "supernetic.jobs.search.race.step_seconds", lambda blueprints, *_, **__: [100.0] * len(blueprints)
    )
    assert set(race(trainings).first_lengths(run, [entry("a"), entry("b")]).values()) == {MIN_ROUND_STEPS}


def test_a_single_network_gets_all_the_time(trainings: Trainings, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("supernetic.jobs.search.race.step_seconds", lambda *_, **__: [PACE])
    run.append(TIMINGS, [{"task": "plan", "seconds": 100.0}, {"task": "train", "seconds": 7.0, "step": 3}])
    plan = replace(PLAN, rounds=(10.0,), sizes=(1,), networks=1)
    left = PLANNED_SHARE * 600 - 100 - 30
    assert race(trainings, plan).first_lengths(run, [entry("plain")]) == {"plain": int(left / PACE)}
    found = finished(trainings, run, [record("plain", 30, role="plain")], plan)
    assert list(found) == ["model-1"]
    assert found["model-1"].recommended
    assert not trainings.calls


# --- rounds -----------------------------------------------------------------------------------------------------------


def test_the_better_ones_go_on_and_the_best_to_the_end(trainings: Trainings, run: Run) -> None:
    run.append(TIMINGS, [{"task": "compare", "seconds": 100.0}])
    trainings.gains = {"candidate-2": 20, "candidate-3": 1, "plain": 2}
    found = finished(trainings, run, FIELD)
    second, third, last = trainings.calls
    assert second == dict.fromkeys(("candidate-3", "plain", "candidate-2"), (200, 1))
    assert third == dict.fromkeys(("candidate-2", "candidate-3"), (400, 1))
    left = PLANNED_SHARE * 600 - 100 - 30
    (steps, processes) = last["candidate-2"]
    assert list(last) == ["candidate-2", "candidate-3"]  # one process each
    assert 0.9 * left / PACE < steps <= left / PACE
    assert processes == 1
    best = found["model-1"]
    assert (best.key, best.first_key, best.steps) == ("candidate-2+++", "candidate-2", 100 + 200 + 400 + steps)
    assert best.trained == {ACCURACY: 120}
    assert best.first == {ACCURACY: 60, "valid/cross_entropy": 1.0}
    assert found["candidate-1"].first_key is None
    assert found["candidate-1"].steps == 100


@pytest.mark.parametrize("asked", [True, False])
def test_the_winner_learns_from_its_teacher(
    asked: bool, trainings: Trainings, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    teacher = TeacherRecord("ResNet", 7000, 50, "teacher", 900, {ACCURACY: 99.0}, asked)
    expected: list[float] = []

    def teach(_: Teacher, run: Run, student: str, accuracy: float) -> tuple[TeacherRecord, Path | None]:
        assert student == "candidate-3++"  # after all rounds
        expected.append(accuracy)
        return teacher, run.path / "targets.safetensors" if asked else None

    monkeypatch.setattr(Teacher, "teach", teach)
    found = finished(trainings, run, FIELD, replace(PLAN, teacher=50.0))
    assert 70 < expected[0] < 100  # what it will know at the end, not what it knows now
    assert found["model-1"].teacher == teacher
    assert found["random-1"].teacher is None
    rounds, last = trainings.targets[:5], trainings.targets[5:]
    assert set(rounds) == {None}
    assert set(last) == {run.path / "targets.safetensors" if asked else None}


@pytest.mark.parametrize(
    "steps", [{"teacher": 9, "other": 9}, {"resnet": 9}, {"teacher": 9, "processes": 7}, {"processes": 1}]
)
def test_decisions_about_a_teacher_are_checked(steps: Any, trainings: Trainings, run: Run) -> None:
    run.append(DECISIONS, [{"decision": "teach-1", "steps": steps}])
    student = Macro(channels=8, classes=10, resolution=8).blueprint((0,) * 8)
    teacher = Teacher(race(trainings).comparison, replace(PLAN, teacher=9.0), lambda: 20.0, ignore)
    with pytest.raises(RunError, match=r"teach names .*: it is not of this run"):
        teacher.teach(run, student, 50.0)


@pytest.mark.parametrize(
    ("accuracy", "reason", "asked"), [(60.0, "", True), (50.0, "", False), (nan, "training diverged", None)]
)
def test_only_a_teacher_that_knows_more_is_asked(
    accuracy: float, reason: str, asked: bool | None, trainings: Trainings, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    student = Macro(channels=8, classes=10, resolution=8).blueprint((0,) * 8)
    trained = Trained("key", run.path / "key", {ACCURACY: accuracy}, reason)
    monkeypatch.setattr(Teacher, "_train", lambda *_: (trained, 9))
    monkeypatch.setattr(Teacher, "_answers", lambda *_: run.path / "answers")
    told: list[str] = []
    teacher = Teacher(race(trainings).comparison, PLAN, lambda: 20.0, lambda event: told.append(event.text))
    record, targets = teacher.teach(run, student, 50.0)
    assert (record and record.asked) == asked
    assert targets == (run.path / "answers" if asked else None)
    assert (reason or "the teacher, a ResNet of") in told[0]


def test_ties_are_broken_by_cross_entropy(trainings: Trainings, run: Run) -> None:
    sure = replace(FIELD[0], trained={ACCURACY: 70, "valid/cross_entropy": 0.5})
    finished(trainings, run, [sure, *FIELD[1:]])
    assert next(iter(trainings.calls[-1])) == "candidate-1"


def test_a_network_that_diverges_keeps_its_weights(trainings: Trainings, run: Run) -> None:
    trainings.diverging = {"candidate-3"}
    best = finished(trainings, run, FIELD)["model-1"]
    assert len(trainings.calls) == 3
    assert (best.key, best.steps, best.failed) == ("candidate-3", 100, "")
    assert best.trained == {ACCURACY: 70, "valid/cross_entropy": 1.0}


def test_networks_that_failed_are_not_in_the_race(trainings: Trainings, run: Run) -> None:
    failed = replace(FIELD[2], failed="training diverged", trained={ACCURACY: None})
    found = finished(trainings, run, [*FIELD[:2], failed, *FIELD[3:]])
    assert "candidate-3" not in trainings.calls[0]
    assert found["candidate-3"].failed == "training diverged"
    assert not found["candidate-3"].chosen


def test_if_nothing_could_be_trained_nothing_is_recommended(trainings: Trainings, run: Run) -> None:
    records = [replace(r, failed="training diverged", trained={ACCURACY: None}) for r in FIELD]
    found = finished(trainings, run, records)
    assert list(found.values()) == records
    assert not trainings.calls


def test_several_processes_train_the_winner_if_that_is_faster(
    trainings: Trainings, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("supernetic.jobs.search.race.together_seconds", lambda *_: 0.4 * PACE)
    finished(trainings, run, FIELD)
    ((steps, used),) = trainings.calls[-1].values()
    assert used == 2
    assert steps == pytest.approx((PLANNED_SHARE * 600 - 30) / (0.4 * PACE), rel=0.1)
    assert run.read(DECISIONS)[-1]["steps"]["processes"] == 2


def test_processes_that_would_share_a_gpu_do_not_train_together(
    trainings: Trainings, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("supernetic.jobs.search.race.together_seconds", lambda *_: 0.4 * PACE)
    finished(trainings, run, FIELD, hardware=Hardware("cuda:1"))
    assert {used for _, used in trainings.calls[-1].values()} == {1}


def test_the_last_training_is_done_in_parts_that_fit_what_is_left(
    trainings: Trainings, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("supernetic.jobs.search.race.together_seconds", lambda *_: 0.5 * PACE)
    left = iter([300.0, 200.0, 20.0])  # the machine gets slower
    monkeypatch.setattr(Race, "_left", lambda *_: next(left))
    best = finished(trainings, run, FIELD, replace(PLAN, finish=360.0))["model-1"]
    assert [steps for call in trainings.calls[2:] for steps, _ in call.values()] == [2000, 1000, 200]
    assert trainings.parts[2:] == [(0, 1 / 3), (1 / 3, 2 / 3), (2 / 3, 1)]
    assert {processes for call in trainings.calls[2:] for _, processes in call.values()} == {2}
    assert best.key == "candidate-3+++++"


def test_single_processes_look_at_the_clock_more_often(
    trainings: Trainings, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("supernetic.jobs.compare.last_training.PART_S", 20.0)
    left = iter([60.0, 30.0])
    monkeypatch.setattr(Race, "_left", lambda *_: next(left))
    finished(trainings, run, FIELD, replace(PLAN, finish=50.0, start=3.0))
    assert trainings.calls[2:] == [dict.fromkeys(("candidate-3", "plain"), (300, 1))] * 2
    assert trainings.parts[2:] == [(0, 1 / 2), (1 / 2, 1)]


def test_otherwise_the_last_networks_of_the_race_are_all_trained_to_the_end(
    trainings: Trainings, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("supernetic.jobs.search.race.together_seconds", lambda *_: 0.95 * PACE)
    trainings.gains = {"candidate-3": 1, "plain": 2.7}  # it is ahead when all is over, and not before
    found = finished(trainings, run, FIELD)
    last = trainings.calls[-1]
    assert list(last) == ["candidate-3", "plain"]
    assert {processes for _, processes in last.values()} == {1}
    assert [steps for steps, _ in last.values()] == pytest.approx([(PLANNED_SHARE * 600 - 30) / PACE] * 2, rel=0.1)
    assert found["model-1"].key == "plain+++"


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ({"candidate-3": -1}, "steps of round-2 must be positive whole numbers by name, got"),
        ({"candidate-3": "10"}, "must be positive whole numbers"),
        ([1], "must be positive whole numbers"),
        (None, "must be positive whole numbers"),
        ({"../candidate": 10}, "names the unknown network '../candidate'"),
    ],
)
def test_decisions_from_elsewhere_are_checked(steps: Any, message: str, trainings: Trainings, run: Run) -> None:
    run.append(DECISIONS, [{"decision": "round-2", "steps": steps}])
    with pytest.raises(RunError, match=message):
        finished(trainings, run, FIELD)
    assert not trainings.calls


# --- what is handed over ----------------------------------------------------------------------------------------------


def test_useless_and_beaten_networks_are_not_handed_over(trainings: Trainings, run: Run) -> None:
    records = [
        record("candidate-1", 73, macs=100),  # below 10 + 80 % of 80 points
        record("candidate-2", 80, macs=200),
        record("candidate-3", 79, macs=300),  # beaten by a cheaper one
        record("candidate-4", 85, macs=400),
        record("candidate-5", 90, macs=1000),
        record("candidate-6", 89, macs=2000),  # costs more than the best
        record("candidate-7", 87, macs=950),  # costs hardly less than the best
        record("baseline", 88, macs=500, role="baseline"),
    ]
    found = finished(trainings, run, records, keep=5)
    models = [r for r in found.values() if r.chosen]
    assert [(r.name, r.macs, r.recommended) for r in models] == [
        ("model-1", 1000, True),
        ("model-2", 400, None),
        ("model-3", 200, None),
    ]
    assert trainings.calls[2] == dict.fromkeys(("candidate-4", "candidate-2"), (300, 1))
    assert found["candidate-3"].role == "candidate"
    assert all(r.weights == ("trained" if r.chosen else "") for r in found.values())


@pytest.mark.parametrize("keep", [1, 2])
def test_no_more_are_handed_over_than_were_asked_for(keep: int, trainings: Trainings, run: Run) -> None:
    records = [record(f"candidate-{i}", 80 + i, macs=100 * i) for i in range(1, 7)]
    found = finished(trainings, run, records, keep=keep)
    assert [n for n, r in found.items() if r.chosen] == ["model-1", "model-2"][:keep]


def test_a_control_may_win(trainings: Trainings, run: Run) -> None:
    trainings.gains = {"plain": 30}
    found = finished(trainings, run, FIELD)
    best = found["model-1"]
    assert (best.role, best.recommended, best.against, best.first_key) == ("chosen", True, "", "plain")
    assert "plain" not in found
    assert found["random-1"].against == "model-1"
    assert {n for n, r in found.items() if r.role == "candidate"} == {"candidate-1", "candidate-2", "candidate-3"}


def test_full_evidence_trains_controls_as_long(trainings: Trainings, run: Run) -> None:
    found = finished(trainings, run, FIELD, evidence="full")
    last = trainings.calls[-1]
    assert set(last) == {"candidate-3", "plain", "random-1"}
    share = (PLANNED_SHARE * 600 - 30) * PLAN.workers / 3
    assert all(0.95 * share < s * PACE <= share and processes == 1 for s, processes in last.values())
    assert found["random-1"].first_key == "random-1"
    assert found["candidate-1"].first_key is None


def test_without_a_time_limit_nothing_is_trained_further(trainings: Trainings, run: Run) -> None:
    plan = replace(PLAN, rounds=(), sizes=(), finish=0.0, limit=0.0)
    found = finished(trainings, run, FIELD, plan, keep=3)
    assert not trainings.calls
    assert not run.read(DECISIONS)
    assert found["model-1"].key == "candidate-3"
    assert found["model-1"].first_key is None


@pytest.mark.parametrize(("inherited", "weights"), [(95.0, "inherited"), (60.0, "trained")])
def test_the_better_weights_are_exported(
    inherited: float, weights: str, trainings: Trainings, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = SimpleNamespace(blueprint=BLUEPRINT)
    network.to = lambda _: network
    monkeypatch.setattr("supernetic.jobs.search.race.load_inherited", lambda *_: network)
    monkeypatch.setattr("supernetic.networks.training.measure", lambda *_: {ACCURACY: inherited})
    old = inherited_file(run.path, "candidate-3")
    old.parent.mkdir()
    old.write_bytes(b"weights")
    records = [replace(r, inherited_weights=r.name == "candidate-3") for r in FIELD]
    assert finished(trainings, run, records)["model-1"].weights == weights
    assert inherited_file(run.path, "model-1").read_bytes() == old.read_bytes() == b"weights"


def test_models_that_were_not_trained_have_the_supernets_weights(trainings: Trainings, run: Run) -> None:
    file = inherited_file(run.path, "candidate-1")
    file.parent.mkdir()
    file.write_bytes(b"weights")
    score = {ACCURACY: 30.0, "valid/cross_entropy": 1.0}
    chosen = NetworkRecord("candidate-1", "chosen", macs=10, score=score, inherited_weights=True)
    untrained = NetworkRecord("plain", "plain", macs=5)
    plan = replace(PLAN, rounds=(), sizes=(), finish=0.0)
    found = finished(trainings, run, [chosen, untrained], plan)
    assert found["model-1"].weights == "inherited"
    assert list(found) == ["model-1", "plain"]
