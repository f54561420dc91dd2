"""Parsers and readers meet anything: they give a result or an `InputError`, and nothing else."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from supernetic import catalog
from supernetic.blueprint import Blueprint
from supernetic.errors import InputError
from supernetic.exporters.card import Card
from supernetic.jobs.request_file import read_request_file
from supernetic.jobs.search.request import SearchRequest
from supernetic.lab.study_file import read_study
from supernetic.objective import Constraint, Objective, parse_objective, parse_quantity, parse_where
from supernetic.runs.directory import DAMAGE, read_records
from supernetic.runs.records import AugmentRecord, NetworkRecord, SearchRecord, networks_of, trust_of
from supernetic.samplers.named import sampler
from supernetic.spaces.declared import declare
from supernetic.strategy import parse_scaling
from supernetic.training.recipe import recipe

FUZZ = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
WORDS = ["macs", "accuracy", "latency", "valid/accuracy", "<=", ">=", "<", " in ", "..", "3M", "nan", "1e400", "²", "٣",
         "%", "ms", "-1", "max ", "min ", "=", ",", "+", ":", "channels", "cells",
         "k", "inf", "", " ", "\x00"]  # fmt: skip
NUMBERS = st.one_of(
    st.integers(), st.floats(), st.sampled_from([10**400, -(10**400), 2**63, 0, -1, math.inf, math.nan])
)
PLAIN = st.one_of(st.none(), st.booleans(), NUMBERS, st.text(max_size=20), st.sampled_from(WORDS))
ANYTHING = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
LINES = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(WORDS), max_size=7).map("".join))

SPACE: dict[str, Any] = {
    "name": "mine", "stem": {"width": 8}, "stages": [{"width": [8, 12], "depth": [1, 2], "kernel": [3, 5]}],
    "head": {"width": 32}, "resolution": [16, 24], "classes": 10, "act": "relu", "per": "block",
}  # fmt: skip
RECIPE: dict[str, Any] = {
    "title": "x", "length": "3 epochs", "batch_size": 16, "lr": 0.1, "warmup": "1 step", "decay_at": ["1 epoch"],
    "sampler": {"name": "sandwich", "n": 2}, "nesterov": True, "ema": 0.5,
}  # fmt: skip
STUDY: dict[str, Any] = {
    "title": "x", "seeds": [0, 1], "base": {"space": "macro", "recipe": {"lr": 0.1}}, "measure": {"kind": "ranking"},
    "grid": {"a": {"b": {}, "c": {"steps": 3}}}, "figures": [{"title": "f", "variants": ["*"]}],
    "claims": [{"text": "t", "metric": "tau", "variant": "b", "above": "c"}],
}  # fmt: skip
REQUEST: dict[str, Any] = {
    "data": "embedded", "space": "macro", "where": ["macs<=20M"], "minutes": 3, "keep": 1, "seed": 0,
    "sampler": {"name": "uniform"}, "retrain_recipe": {"length": "3 epochs"}, "baselines": [],
}  # fmt: skip
NETWORK: dict[str, Any] = {
    "name": "model-1", "role": "chosen", "arch": [0, 1], "macs": 5, "params": 3, "key": "k", "score": {"a": 1.0},
    "trained": {"valid/accuracy": 50.0}, "steps": 3, "keys": ["k"], "recommended": True, "latency": {"ms": 1.0},
    "finishes": [{"number": 1, "steps": 3, "before": {"a": 1.0}, "difference": [1, 0, 2]}],
}  # fmt: skip
SEARCH: dict[str, Any] = {
    "space": "x", "searcher": {}, "objectives": ["max a"], "where": [], "evaluations": 3, "trials": {"ok": 3},
    "front": [{"arch": [0], "name": "n", "metrics": {"a": 1.0}}], "chosen": [], "hypervolume": 1.0, "first": 2,
}  # fmt: skip
TRUST: dict[str, Any] = {
    "tau": {"tau": 0.5}, "rounds": 1, "test_images": 5, "steps_per_epoch": 2.0, "decides": "valid/f1",
    "comparisons": [{"model": "a", "control": "b", "difference": 1.0, "steps": [1, 2]}],
}  # fmt: skip
CARD: dict[str, Any] = {
    "name": "m", "task": "t", "classes": ["a", "b"], "macs": 5, "params": 3, "notes": [], "licence": "",
    "preprocessing": {"resolution": 8, "channels": 1, "mean": [0.5], "std": [0.2], "data_resolution": 8},
    "settings": {"space": "s", "arch": "a", "recipe": "", "seeds": [0]}, "metrics": {"test/accuracy": 50.0},
}  # fmt: skip
AUGMENTED: dict[str, Any] = {"augment": "light", "reason": "r", "columns": 2, "rows": 2, "resolution": 8, "sheet": "x"}


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in nested tables and lists."""
    found = [path] if path else []
    items = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        found += places(inner, (*path, key))
    return found


def spoilt(example: Any) -> st.SearchStrategy[Any]:
    """The example with something else in one or two places, something missing, or something more."""

    def change(changes: list[tuple[tuple[Any, ...], Any]]) -> Any:
        copy = json.loads(json.dumps(example))
        for path, value in changes:
            inner = copy
            try:
                for part in path[:-1]:
                    inner = inner[part]
                if value is None:
                    del inner[path[-1]]
                else:
                    inner[path[-1]] = value
            except (KeyError, IndexError, TypeError):  # an earlier change has taken the place away
                continue
        return copy

    chosen = st.tuples(st.sampled_from([*places(example), ("unknown",)]), ANYTHING)
    return st.one_of(st.lists(chosen, min_size=1, max_size=2).map(change), ANYTHING)


@FUZZ
@given(LINES)
def test_limits_and_objectives(text: str) -> None:
    for parse in (parse_where, parse_objective, parse_quantity, parse_scaling):
        try:
            found: Any = parse(text)
        except InputError:
            continue
        if isinstance(found, Constraint):
            assert math.isfinite(found.low) or math.isfinite(found.high)
        if isinstance(found, float):
            assert math.isfinite(found)
        assert isinstance(found, Constraint | Objective | float) or parse is parse_scaling


@FUZZ
@given(
    st.sampled_from(["macro", "nasbench201", "attentive", "local", "nsga2", "sandwich", "attentive:k=5", "mixed"]),
    LINES,
)
def test_settings_behind_names(name: str, text: str) -> None:
    for find in (catalog.space, catalog.searcher, sampler):
        for whole in (f"{name}:{text}", f"{name}{text}", text):
            if whole.endswith((".py", ".toml")):
                continue
            try:
                find(whole)
            except InputError:
                continue


def refuses(read: Callable[[Any], Any], value: Any, errors: tuple[type[Exception], ...] = (InputError,)) -> None:
    """Nothing but these errors may come out."""
    try:
        read(value)
    except errors:
        return


@FUZZ
@given(spoilt(SPACE))
def test_declared_spaces(table: Any) -> None:
    if isinstance(table, dict) and all(isinstance(k, str) for k in table):
        refuses(lambda t: declare(**t), table, (InputError, TypeError) if "self" in table else (InputError,))


@FUZZ
@given(spoilt(RECIPE))
def test_recipes(table: Any) -> None:
    if isinstance(table, dict):
        refuses(recipe, table)


def as_file(table: Any, path: Path) -> bool:
    """Write a table as TOML, if TOML can say it."""
    try:
        text = tomli_w.dumps(table)
        tomllib.loads(text)
    except (TypeError, ValueError, AttributeError):
        return False
    path.write_text(text, encoding="utf-8", errors="replace")
    return True


@FUZZ
@given(spoilt(STUDY))
def test_studies(tmp_path: Path, table: Any) -> None:
    if as_file(table, tmp_path / "study.toml"):
        refuses(read_study, tmp_path / "study.toml")


@FUZZ
@given(spoilt(REQUEST))
def test_requests(tmp_path: Path, table: Any) -> None:
    if as_file(table, tmp_path / "request.toml"):
        refuses(lambda f: read_request_file(f, "search", {"": SearchRequest}), tmp_path / "request.toml")


@FUZZ
@given(st.binary(max_size=200))
def test_files_of_bytes(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.toml").write_bytes(data)
    (tmp_path / "x.jsonl").write_bytes(data)
    refuses(read_study, tmp_path / "x.toml")
    refuses(lambda f: read_request_file(f, "search", {"": SearchRequest}), tmp_path / "x.toml")
    refuses(read_records, tmp_path / "x.jsonl")


@pytest.mark.parametrize(
    ("example", "read"),
    [
        (NETWORK, NetworkRecord.from_json),
        ([NETWORK], networks_of),
        (SEARCH, SearchRecord.from_json),
        (TRUST, trust_of),
        (AUGMENTED, AugmentRecord.from_json),
    ],
    ids=["network", "networks", "search", "trust", "augment"],
)
def test_run_records(example: Any, read: Callable[[Any], Any]) -> None:
    @FUZZ
    @given(spoilt(example))
    def fuzz(value: Any) -> None:
        refuses(read, value)

    fuzz()


@FUZZ
@given(spoilt(CARD))
def test_model_cards(record: Any) -> None:
    refuses(lambda r: Card.from_json(r).check(4096), record, DAMAGE)


@FUZZ
@given(spoilt(catalog.space("macro").blueprint((2,) * 8).to_json()[:4]))
def test_blueprints(records: Any) -> None:
    refuses(Blueprint.from_json, records, DAMAGE)
