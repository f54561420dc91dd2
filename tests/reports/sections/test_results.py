from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from supernetic.reports.sections.results import found_results, limited_cost, results
from supernetic.runs.view import read_run

Make = Callable[..., Path]


def change(path: Path, name: str, **fields: Any) -> None:
    networks = json.loads((path / "networks.json").read_text())
    next(n for n in networks if n["name"] == name).update(fields)
    (path / "networks.json").write_text(json.dumps(networks))


def test_every_tested_network_is_there_with_its_interval(make: Make) -> None:
    run = read_run(make(race=True))
    shown = results(run)
    ElementTree.fromstring(shown["plot"])
    assert shown["plot"].count('class="whisker') == len(run.models)
    assert "test accuracy 90.00 % (88.6 to 91.2)" in shown["plot"].replace("\N{NO-BREAK SPACE}", " ")
    assert shown["about"][0].startswith("Accuracy of the finished networks on 2,000 test images, with 95 % intervals")


def test_networks_that_stopped_early_do_not_look_like_the_winner(make: Make) -> None:
    run = read_run(make(race=True))
    by_name = {r.model.name: r.length for r in found_results(run, "test/accuracy", "cost/macs")}
    assert by_name["model-1"] == "full"
    assert by_name["plain"] == by_name["model-2"] == "early"
    shown = results(run)
    assert 'class="dot chosen full"' in shown["plot"]
    assert 'class="dot other early"' in shown["plot"]
    assert shown["plot"].count("stopped after the first round") == len(run.models) - 1
    assert [words for _, _, words in shown["lengths"]][-1] == "stopped after the first round"
    assert "model-1, 132 epochs" in shown["plot"]


def test_a_network_that_went_on_for_less_is_between(make: Make) -> None:
    path = make(race=True)
    change(path, "plain", first_key="key4", first_test={"test/accuracy": 70.0}, steps=5000)
    lengths = {r.model.name: r.length for r in found_results(read_run(path), "test/accuracy", "cost/macs")}
    assert lengths["plain"] == "partly"


def test_networks_trained_alike_are_all_full_and_nothing_is_said_about_it(make: Make) -> None:
    shown = results(read_run(make()))
    assert shown["lengths"] == []
    assert " early" not in shown["plot"]
    assert "epochs" not in shown["plot"]


def test_what_lies_far_below_is_an_arrow_and_named(make: Make) -> None:
    path = make(race=True)
    change(path, "mobilenetv2", test={"test/accuracy": 15.0})
    shown = results(read_run(path))
    assert shown["plot"].count('class="whisker') == len(read_run(path).models) - 1
    assert shown["about"][-1].replace("\N{NO-BREAK SPACE}", " ") == (
        "mobilenetv2 (15.00 %) lies below the plot, at the arrow."
    )
    ticks = [float(t) for t in re.findall(r'class="tick end"[^>]*>(\d+)<', shown["plot"])]
    assert min(ticks) > 50


def test_before_the_test_it_shows_validation_and_says_so(make: Make) -> None:
    path = make(race=True)
    networks = json.loads((path / "networks.json").read_text())
    for n in networks:
        n["test"] = n["first_test"] = None
    (path / "finished.json").write_text(json.dumps(networks))
    (path / "networks.json").unlink()
    (path / "trust.json").unlink()
    shown = results(read_run(path))
    assert "on 4,000 validation images" in shown["about"][0]
    assert "Nothing was tested yet." in shown["about"][1]
    assert results(read_run(make("early", until="search"))) == {}


def test_weights_of_the_supernet_are_named_as_such(make: Make) -> None:
    path = make()
    change(path, "model-2", weights="inherited", inherited={"test/accuracy": 79.0})
    shown = results(read_run(path))
    assert "Model-2 has the supernet's weights, not weights of a training of its own." in shown["about"]
    assert "with the supernet&#x27;s weights" in shown["plot"]


@pytest.mark.parametrize(
    ("where", "cost"),
    [
        (["macs<=1.4M"], "cost/macs"),
        (["params<=80K"], "cost/params"),
        (["latency<=2", "params<=80K"], "latency/ms"),
        (["params<=80K", "macs<=1.4M"], "cost/macs"),
        (["valid/accuracy>=20"], "cost/macs"),
    ],
)
def test_the_cost_is_the_one_that_is_limited(make: Make, where: list[str], cost: str) -> None:
    path = make()
    asked = ", ".join(map(json.dumps, where))
    (path / "run.toml").write_text((path / "run.toml").read_text().replace('"macs<=1.4M"', asked))
    assert limited_cost(read_run(path)) == cost


def test_networks_without_a_latency_are_named_not_drawn(make: Make) -> None:
    path = make(race=True)
    (path / "run.toml").write_text((path / "run.toml").read_text().replace('"macs<=1.4M"', '"latency<=2"'))
    shown = results(read_run(path))
    assert shown["plot"].count('class="whisker') == 2
    assert shown["about"][-1] == "7 networks have no measured latency, so the plot leaves them out."
