from __future__ import annotations

import numpy as np

from supernetic.costs import costs_of
from supernetic.jobs.compare.candidates import candidates
from supernetic.objective import Constraint, Objective
from supernetic.searchers import SearchProblem
from supernetic.spaces.macro import Macro

SPACE = Macro(channels=8, resolution=16, head=32)
CHOSEN = [(1, 0, 0, 0, 0, 0, 0, 0), (2, 1, 2, 0, 0, 1, 0, 0)]


def task(high: float) -> SearchProblem:
    goals = (Objective("valid/cross_entropy", False), Objective("cost/macs", False))
    return SearchProblem(SPACE, goals, (Constraint("cost/macs", high=high),))


def test_every_model_has_a_random_control_at_its_macs() -> None:
    found, remarks = candidates(task(1e7), CHOSEN, 0, {})
    by_name = {c.name: c for c in found}
    assert list(by_name) == [
        *("candidate-1", "candidate-2", "plain", "resnet", "largest", "random-1", "mobilenetv2", "random-2"),
    ]
    assert not remarks
    for i in (1, 2):
        control = by_name[f"random-{i}"]
        model = by_name[control.against]
        assert abs(control.macs - model.macs) <= 0.2 * model.macs
        assert control.arch is not None
        assert SPACE.canonical(control.arch) not in {SPACE.canonical(arch) for arch in CHOSEN}


def test_the_largest_and_the_mobilenet_keep_the_budget() -> None:
    found, _ = candidates(task(1.5e6), CHOSEN, 0, {})
    by_name = {c.name: c for c in found}
    assert by_name["largest"].macs <= 1.5e6
    assert by_name["mobilenetv2"].macs <= 1.5e6
    every = costs_of(SPACE, SPACE.sample(np.random.default_rng(0), 3000))
    assert by_name["largest"].macs >= every[every <= 1.5e6].max()


def test_a_chosen_largest_network_is_no_control() -> None:
    found, remarks = candidates(task(1e9), [(2,) * 8], 0, {})
    assert "largest" not in {c.name for c in found}
    assert any("was chosen itself" in r for r in remarks)


def test_a_budget_too_small_for_a_mobilenet_is_a_remark() -> None:
    found, remarks = candidates(task(2e5), [CHOSEN[0]], 0, {})
    assert "mobilenetv2" not in {c.name for c in found}
    assert any("MobileNetV2" in r for r in remarks)


def test_seeds_draw_other_controls() -> None:
    first, second = (candidates(task(1e7), CHOSEN, seed, {})[0] for seed in (0, 1))
    assert [c.arch for c in first if c.role == "random"] != [c.arch for c in second if c.role == "random"]
    again, _ = candidates(task(1e7), CHOSEN, 0, {})
    assert [c.arch for c in again] == [c.arch for c in first]


def test_where_controls_may_break_a_limit_a_candidate_comes_first() -> None:
    by_macs, _ = candidates(task(1e7), CHOSEN, 0, {}, most=1)
    assert [c.name for c in by_macs] == ["plain"]
    goals = (Objective("valid/cross_entropy", False), Objective("cost/macs", False))
    limits = (Constraint("cost/macs", high=1e7), Constraint("cost/params", high=1e6))
    by_params, _ = candidates(SearchProblem(SPACE, goals, limits), CHOSEN, 0, {}, most=1)
    assert [c.arch for c in by_params] == [CHOSEN[0]]


def test_a_race_has_one_random_control() -> None:
    found, _ = candidates(task(1e7), CHOSEN, 0, {}, most=8)
    assert [c.role for c in found].count("random") == 1


def test_beside_pretrained_networks_none_is_of_a_well_known_kind_and_candidates_come_first() -> None:
    found, _ = candidates(task(1e7), CHOSEN, 0, {}, standard=False)
    assert {c.role for c in found} == {"chosen", "largest", "random"}
    (only,), _ = candidates(task(1e7), CHOSEN, 0, {}, standard=False, most=1)
    assert only.arch == CHOSEN[0]
