from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from math import nan
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from supernetic.costs import costs_of
from supernetic.errors import InputError, RunError, SupernetError, UnknownNameError
from supernetic.objective import Constraint, Metrics, Objective
from supernetic.runs.directory import TIMINGS, TRIALS, open_run
from supernetic.searchers import SearchProblem, Trial, run_search
from supernetic.searchers.nsga2 import NSGA2
from supernetic.searchers.problem import Asking
from supernetic.searchers.random import RandomSearch
from supernetic.space import Arch
from supernetic.spaces.macro import Macro

SPACE = Macro()
SUM = Objective("toy/sum", True)
TASK = SearchProblem(SPACE, (SUM, Objective("cost/macs", False)), (Constraint("toy/sum", low=3),))

RUNNER = """
import sys, time
sys.path.insert(0, sys.argv[1])
from test_runner import Toy, TASK
from supernetic.catalog import SEARCHERS, load
from supernetic.runs.directory import open_run
from supernetic.searchers import run_search

class Slow(Toy):
    def __call__(self, archs):
        time.sleep(0.002 * len(archs))
        return super().__call__(archs)

searcher = load("searcher", SEARCHERS, sys.argv[3])()
with open_run(sys.argv[2], {"searcher": sys.argv[3]}) as run:
    run_search(searcher, TASK, Slow(), run, seed=5, budget=300, chunk=4)
"""


class Toy:
    """The sum of the genes, with what can go wrong on request."""

    metrics = ("toy/sum", "cost/macs")
    test: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, *, dies: Sequence[Arch] = (), blank: Sequence[Arch] = ()) -> None:
        self.asked: list[Arch] = []
        self.dies, self.blank = dies, blank

    def __call__(self, archs: Sequence[Arch]) -> list[Metrics]:
        if any(a in self.dies for a in archs):
            raise RuntimeError("out of memory")
        self.asked += archs
        macs = costs_of(SPACE, np.array(archs, dtype=np.int8)).tolist()
        sums = [nan if a in self.blank else float(sum(a)) for a in archs]
        return [{"toy/sum": s, "cost/macs": float(m)} for s, m in zip(sums, macs, strict=True)]


class Script:
    """Asks for given batches and remembers the answers."""

    needs_budget = False

    def __init__(self, *batches: list[Arch]) -> None:
        self.batches, self.answers = batches, list[list[Trial]]()

    def search(self, task: SearchProblem, rng: np.random.Generator) -> Asking:
        for batch in self.batches:
            self.answers.append((yield batch))


A, B, C = (1,) * 8, (2,) * 8, (0, 1, 2, 0, 1, 2, 0, 1)


def test_answers_come_in_the_order_asked_and_twice_costs_nothing() -> None:
    searcher, toy = Script([A, B, A], [B, C, A]), Toy()
    trials = run_search(searcher, TASK, toy)
    assert [t.arch for t in trials] == toy.asked == [A, B, C]
    assert [[t.arch for t in batch] for batch in searcher.answers] == [[A, B, A], [B, C, A]]
    assert searcher.answers[1][2].metrics["toy/sum"] == 8


def test_another_encoding_of_a_known_network_costs_nothing() -> None:
    one, two = (2, 2, 2, 1, 2, 2, 0, 2), (2, 2, 2, 1, 2, 2, 2, 0)
    searcher, toy = Script([one], [two]), Toy()
    run_search(searcher, TASK, toy)
    assert toy.asked == [one]
    assert searcher.answers[1][0].arch == two


def test_the_budget_counts_evaluations() -> None:
    searcher, toy = Script([A, B, A, C], [C]), Toy()
    assert [t.arch for t in run_search(searcher, TASK, toy, budget=2)] == [A, B]
    assert searcher.answers == []
    assert len(run_search(RandomSearch(), TASK, Toy(), budget=77)) == 77


def test_an_endless_searcher_needs_a_budget() -> None:
    with pytest.raises(InputError, match="how many evaluations"):
        run_search(RandomSearch(), TASK, Toy())


def test_a_searcher_that_asks_nothing_new_ends() -> None:
    class Stubborn(Script):
        def search(self, task: SearchProblem, rng: np.random.Generator) -> Asking:
            while True:
                yield [A]

    assert len(run_search(Stubborn(), TASK, Toy())) == 1


def test_constraints_are_checked_cheap_first_and_reasons_recorded(tmp_path: Path) -> None:
    costs = costs_of(SPACE, np.array([A, B, C], dtype=np.int8))
    limit = Constraint("cost/macs", high=float(costs[0]))
    task = SearchProblem(SPACE, TASK.objectives, (Constraint("toy/sum", low=8), limit))
    toy = Toy()
    with open_run(tmp_path, {}) as run:
        a, b, c = run_search(Script([A, B, C]), task, toy, run)
        assert B not in toy.asked  # too expensive: never evaluated
        assert (a.status, b.status, c.status) == ("ok", "infeasible", "infeasible")
        assert b.metrics == {"cost/macs": costs[1]}
        assert b.reason.startswith("cost/macs")
        assert c.reason == "toy/sum>=8 does not hold"
        assert [r.get("reason", "") for r in run.read(TRIALS)] == ["", b.reason, c.reason]


def test_what_is_not_there_is_not_evaluated() -> None:
    toy = Toy()
    task = SearchProblem(SPACE, TASK.objectives, among=np.array([A, C], dtype=np.int8))
    a, b = run_search(Script([A, B]), task, toy)
    assert toy.asked == [A]
    assert (a.status, b.status, b.reason) == ("ok", "infeasible", "not among the architectures there are")


def test_one_failure_does_not_end_a_search(tmp_path: Path) -> None:
    with open_run(tmp_path, {}) as run:
        a, b, c = run_search(Script([A, B, C]), TASK, Toy(dies=[B], blank=[C]), run)
        assert (a.status, b.status, c.status) == ("ok", "failed", "failed")
        assert b.reason == "RuntimeError: out of memory"
        assert c.reason == "toy/sum is not a finite number"
        assert run.read(TRIALS)[2]["metrics"]["toy/sum"] is None


def test_failure_of_all_does() -> None:
    batches: list[list[Arch]] = [[A], [A, B]]
    for batch in batches:
        with pytest.raises(RuntimeError, match="out of memory"):
            run_search(Script(batch), TASK, Toy(dies=[A, B]))


def test_the_first_answer_is_checked() -> None:
    class Liar(Toy):
        def __call__(self, archs: Sequence[Arch]) -> list[Metrics]:
            return [{"toy/sum": 1.0} for _ in archs]

    class Short(Toy):
        def __call__(self, archs: Sequence[Arch]) -> list[Metrics]:
            return super().__call__(archs)[1:]

    for wrong in (Liar(), Short()):
        with pytest.raises(SupernetError, match="declares"):
            run_search(Script([A, B]), TASK, wrong)
    with pytest.raises(UnknownNameError, match="toy/sun"):
        run_search(Script([A]), SearchProblem(SPACE, (Objective("toy/sun", True),)), Toy())


def test_an_architecture_of_another_space_is_refused() -> None:
    with pytest.raises(InputError, match="8 integers"):
        run_search(Script([(1, 2)]), TASK, Toy())


def test_chunks_change_nothing_but_the_moments_of_writing(tmp_path: Path) -> None:
    for chunk in (None, 1, 7):
        with open_run(tmp_path / str(chunk), {}) as run:
            run_search(NSGA2(10, 5), TASK, Toy(), run, chunk=chunk)
    files = {(tmp_path / name / TRIALS).read_bytes() for name in ("None", "1", "7")}
    assert len(files) == 1
    assert sum(r["evaluations"] for r in run.read(TIMINGS)) == len(run.read(TRIALS))


def test_a_record_cut_anywhere_resumes_to_the_same_bytes(tmp_path: Path) -> None:
    with open_run(tmp_path, {}) as run:
        whole = run_search(NSGA2(8, 4), TASK, Toy(blank=[B]), run, seed=3)
    file = tmp_path / TRIALS
    expected = file.read_bytes()
    for cut in [0, 1, *range(0, len(expected), 97), len(expected) - 1, len(expected)]:
        file.write_bytes(expected[:cut])
        toy = Toy(blank=[B])
        with open_run(tmp_path, {}) as run:
            again = run_search(NSGA2(8, 4), TASK, toy, run, seed=3)
        assert file.read_bytes() == expected
        assert [t.to_json() for t in again] == [t.to_json() for t in whole]
        assert len(toy.asked) == len(whole) - expected[:cut].count(b"\n")  # what is recorded is not evaluated again


def test_a_foreign_record_is_refused(tmp_path: Path) -> None:
    with open_run(tmp_path, {}) as run:
        run_search(RandomSearch(5), TASK, Toy(), run, seed=1, budget=20)
        before = (tmp_path / TRIALS).read_bytes()
        with pytest.raises(RunError, match="trial 0 is"):
            run_search(RandomSearch(5), TASK, Toy(), run, seed=2, budget=20)
        with pytest.raises(RunError, match="holds 20 trials, the search ended after 10"):
            run_search(RandomSearch(5), TASK, Toy(), run, seed=1, budget=10)
        assert (tmp_path / TRIALS).read_bytes() == before


@pytest.mark.parametrize("name", ["nsga2", "evolution"])
def test_killed_at_random_moments_and_resumed_the_bytes_are_the_same(tmp_path: Path, name: str) -> None:
    def start(place: Path) -> subprocess.Popen[bytes]:
        here = str(Path(__file__).parent)
        env = {**os.environ, "OMP_NUM_THREADS": "1"}
        return subprocess.Popen([sys.executable, "-c", RUNNER, here, str(place), name], env=env)

    assert start(tmp_path / "whole").wait() == 0
    expected = (tmp_path / "whole" / TRIALS).read_bytes()
    moments = random.Random(name)
    file = tmp_path / "killed" / TRIALS
    kills = 0
    for _ in range(4):
        size = file.stat().st_size if file.exists() else -1
        process = start(tmp_path / "killed")
        while process.poll() is None and (file.stat().st_size if file.exists() else -1) <= size:
            time.sleep(0.002)  # until this attempt has written something
        time.sleep(moments.random() * 0.12)
        process.send_signal(signal.SIGKILL)
        kills += process.wait() == -signal.SIGKILL
        assert expected.startswith(file.read_bytes()[: file.read_bytes().rfind(b"\n") + 1])
    assert kills >= 3
    assert file.read_bytes() != expected
    assert start(tmp_path / "killed").wait() == 0
    assert file.read_bytes() == expected


# --- failures that the caller looks after -----------------------------------------------------------------------------


class Fussy(Toy):
    """Raises what no searcher expects."""

    def __init__(self, error: Exception, dies: Sequence[Arch]) -> None:
        super().__init__(dies=dies)
        self.error, self.calls = error, 0

    def __call__(self, archs: Sequence[Arch]) -> list[Metrics]:
        self.calls += len(archs)
        if any(a in self.dies for a in archs):
            raise self.error
        return super().__call__(archs)


def test_any_failure_is_recorded_where_the_caller_asks_for_it(tmp_path: Path) -> None:
    failures: list[tuple[Arch, Exception]] = []
    toy = Fussy(KeyError("a\nb"), [A, B])
    with open_run(tmp_path, {}) as run:
        a, b, c = run_search(
            Script([A, B, C]), TASK, toy, run, chunk=1, on_failure=lambda arch, e: failures.append((arch, e))
        )
    assert [a.status, b.status, c.status] == ["failed", "failed", "ok"]
    assert a.reason == "KeyError: 'a\\nb'"
    assert a.metrics["cost/macs"] == costs_of(SPACE, np.array([A], dtype=np.int8))[0]  # known all the same
    assert np.isnan(a.metrics["toy/sum"])
    assert failures == [(A, toy.error), (B, toy.error)]
    assert toy.calls == 3  # what failed is not tried again


def test_the_caller_may_end_a_search_that_fails(tmp_path: Path) -> None:
    def give_up(arch: Arch, error: Exception) -> None:
        raise SupernetError("enough")

    with pytest.raises(SupernetError, match="enough"):
        run_search(Script([A, B]), TASK, Fussy(KeyError(), [A]), chunk=1, on_failure=give_up)


@pytest.mark.parametrize("error", [InputError("no such metric"), KeyboardInterrupt()])
def test_what_is_no_failure_of_an_architecture_ends_a_search(error: Exception) -> None:
    with pytest.raises(type(error)):
        run_search(Script([A, B]), TASK, Fussy(error, [B]), on_failure=lambda arch, e: None)


def test_progress_by_chunk_leaves_out_what_the_record_holds(tmp_path: Path) -> None:
    counts: list[int] = []
    for budget in (2, 3):
        with open_run(tmp_path, {}) as run:
            run_search(
                Script([A, B, C]), TASK, Toy(), run, budget=budget, chunk=1,
                progress_by_chunk=lambda trials: counts.append(len(trials)),
            )  # fmt: skip
    assert counts == [1, 2, 3]
