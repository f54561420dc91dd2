import json
from pathlib import Path

import pytest
import tomli_w

from supernetic.commands.report import report
from supernetic.errors import RunError
from supernetic.reports.scale import write_scale
from supernetic.spaces.macro import Macro


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The files of a finished job, by hand."""
    blueprint = Macro(channels=4, resolution=8, head=16).blueprint((1,) * 8)
    for name, role, against, key, accuracy in (
        ("s0", "chosen", "", "k0", 80.0),
        ("s1", "chosen", "", "k1", 83.0),
        ("s2", "chosen", "", "k2", None),
        ("compound-1", "compound", "s1", "k3", 82.25),
    ):
        (tmp_path / "networks" / key).mkdir(parents=True)
        (tmp_path / "networks" / key / "run.toml").write_text(tomli_w.dumps({"blueprint": blueprint.to_json()}))
        NETWORKS[name] = {
            "name": name, "role": role, "against": against, "label": "d=1 w=1 r=8px : base", "arch": [0], "macs": 1e6,
            "params": 2e5, "key": key, "trained": {"valid/accuracy": accuracy}, "test": {"test/accuracy": accuracy},
        }  # fmt: skip
    (tmp_path / "networks.json").write_text(json.dumps(list(NETWORKS.values())))
    (tmp_path / "scale.json").write_text(json.dumps(SCALE))
    (tmp_path / "trust.json").write_text(json.dumps({"comparisons": [COMPARISON]}))
    (tmp_path / "chain.jsonl").write_text("".join(json.dumps(s) + "\n" for s in CHAIN))
    settings = {"job": "scale", "data": {"name": "toys"}, "plan": {"rounds": 1}, "retrain_recipe": {"lr": 0.1}}
    (tmp_path / "run.toml").write_text(tomli_w.dumps(settings))
    return tmp_path


NETWORKS: dict[str, object] = {}
COMPARISON = {"model": "<s1>", "control": "compound-1", "difference": 0.75, "low": -0.5, "high": 2.0}
VALUES = [[1.1, 1.1, 1.1], [1.21, 1.21, 1.21]]
SCALE = {
    "base": "MB1_K3",
    "budgets": {"base": 1e6, "unit": 1e5, "targets": [1e6, 2e6]},
    "strategies": [{"factors": [1.1, 1.1, 1.1], "depths": [1.04, 1.16], "off": 0.2}],
    "curve": "exponential",
    "curves": [
        {"family": "exponential", "formula": "a^j", "left_out": None, "values": VALUES},
        {"family": "linear", "formula": "1 + a j", "left_out": 0.0321, "values": [[1.1] * 3, [1.2] * 3]},
        {"family": "stretched", "formula": "exp(a j^b)", "left_out": 4e20, "values": [[1.1] * 3, [1.2] * 3]},
    ],
    "ties": {"middle": VALUES, "smallest": VALUES, "largest": VALUES},
    "evaluations": 123,
    "order": {"n": 9, "pearson": 0.5, "spearman": 0.25, "kendall": None},
    "sampling": {"size": [0.1, 0.2], "uniform": [0.3, 0.4], "plain": [0.0, 0.5]},
}
STRATEGY = {"genes": [1, 2, 3, 0], "depths": [1.04, 1.16], "off": 0.2}
CHAIN = [
    {"round": 0, "base": None, "strategies": [STRATEGY], "scores": [1.5], "score": 1.5, "evaluations": 10},
    {"round": 1, "base": [0, 1], "strategies": [STRATEGY], "scores": [1.25], "score": 1.25, "evaluations": 30},
]


def test_the_page_says_it_all(run: Path) -> None:
    text = write_scale(run).read_text()
    said = (
        "A family of models for toys", "&lt;s1&gt; against compound-1: not significant (the 95 % interval includes 0)",
        "+0.75 points [\N{MINUS SIGN}0.50, +2.00]", "82.25", "a^j (used)", "3.2 %", "2/3/0", "30.0 %",
        "over 100 %",
        "1.210, 1.210, 1.210", "1.04..1.16", "Over 9 random networks", "123 networks",
        "the same base, compound scaling",
    )  # fmt: skip
    for words in said:
        assert words in text, words
    assert text.count('class="drawing"') == 3
    assert report(run).page == str(run / "report.html")


def test_an_unfinished_run(run: Path) -> None:
    (run / "scale.json").unlink()
    with pytest.raises(RunError, match="is not finished, it has no report yet"):
        write_scale(run)
