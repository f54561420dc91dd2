from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import pytest

from supernetic.lab.study_figures import figure_plots, legend


def spread(mean: float) -> dict[str, float]:
    return {"n": 2, "mean": mean, "sd": 0.1, "low": mean - 0.2, "high": mean + 0.2}


RANKED = {f"{m}@{n}": spread(0.5) for m in ("tau", "score") for n in ("10", "500", "random")}
MATRIX = {"slots": [{"slot": 1, "labels": ["skip", "conv"], "matrix": [[1.0, 0.5], [0.5, 1.0]]}]}
CASES: list[tuple[str, dict[str, Any], dict[str, Any], int]] = [
    ("ranking", RANKED, {"points": [[90, 10], [91, 11]]}, 4),
    ("usage", {f"{w}/{o}@10": spread(0.5) for w in ("usage", "share") for o in "ab"}, {"operations": ["a", "b"]}, 4),
    ("similarity", {"of skips": spread(0.5)}, MATRIX, 3),
    ("histogram", {"mean": spread(50)}, {"scores": [float(i) for i in range(20)], "curve": [[1, 2.0], [2, 1.0]]}, 3),
    ("order", {"of skips": spread(0.5)}, {}, 1),
]


@pytest.mark.parametrize(("kind", "values", "details", "plots"), CASES, ids=[c[0] for c in CASES])
def test_every_kind_draws_well_formed_plots(kind: str, values: Any, details: Any, plots: int) -> None:
    names = ["plain", "no <skip>"]
    record = {
        "measure": {"kind": kind},
        "seeds": [0],
        "shown": ["of skips"],
        "table": dict.fromkeys(names, values),
        "measured": [{"variant": v, "seed": 0, "details": details} for v in names],
    }
    figure = {"title": "", "caption": "", "variants": names, "metrics": []}
    found = figure_plots(record, figure)
    assert len(found) == plots
    for plot in found:
        ET.fromstring(plot.svg)
        assert plot.caption
    assert len(legend(record, figure)) == 2


def test_an_operation_has_one_colour_in_all_plots() -> None:
    def table(operations: str) -> dict[str, Any]:
        return {f"usage/{o}@{n}": spread(0.5) for o in operations for n in (10, 99)}

    measured = [{"variant": "all", "seed": 0, "details": {"operations": ["a", "b"], "networks": 99}},
                {"variant": "no a", "seed": 0, "details": {"operations": ["b"], "networks": 50}}]  # fmt: skip
    record = {"measure": {"kind": "usage"}, "table": {"all": table("ab"), "no a": table("b")}, "measured": measured,
              "seeds": [0], "shown": []}  # fmt: skip
    figure = {"variants": ["all", "no a"], "metrics": ["usage"]}
    colours = {name: style for style, name in legend(record, figure)}
    both, masked = (plot.svg for plot in figure_plots(record, figure))
    assert all(style in both for style in colours.values())
    assert colours["b"] in masked
    assert colours["a"] not in masked
    assert ">all<" in masked


def test_the_other_score_of_a_ranking_can_be_drawn() -> None:
    table = {"a": RANKED | {f"cross_entropy/tau@{n}": spread(0.3) for n in ("10", "500", "random")}}
    record = {"measure": {"kind": "ranking"}, "seeds": [0], "shown": [], "measured": [], "table": table}
    figure = {"variants": ["a"], "metrics": ["cross_entropy/tau", "tau"]}
    assert [p.caption for p in figure_plots(record, figure)] == [
        "tau by cross-entropy in the top N",
        "tau in the top N",
    ]
