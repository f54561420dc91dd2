from math import inf, nan

import pytest

from supernetic.errors import InputError, UnknownNameError
from supernetic.objective import (
    Constraint,
    Objective,
    combine,
    parse_objective,
    parse_quantity,
    parse_where,
    resolve,
    show_quantity,
)


@pytest.mark.parametrize(
    ("text", "value"), [("300M", 3e8), ("1.2g", 1.2e9), ("8ms", 8), ("40%", 40), ("1e6", 1e6), (".5K", 500), ("-3", -3)]
)
def test_quantities(text: str, value: float) -> None:
    assert parse_quantity(text) == value


@pytest.mark.parametrize("text", ["", "M", "3 apples", "1..2", "nan", "inf", "3MM"])
def test_bad_quantities(text: str) -> None:
    with pytest.raises(InputError, match="a value is a number"):
        parse_quantity(text)


@pytest.mark.parametrize(
    ("text", "constraint"),
    [
        ("macs<=300M", Constraint("macs", high=3e8)),
        ("macs < 300M", Constraint("macs", high=3e8, high_open=True)),
        ("valid/accuracy>40%", Constraint("valid/accuracy", low=40, low_open=True)),
        ("macs in 275M..325M", Constraint("macs", 275e6, 325e6)),
        ("latency in 4ms .. 5ms", Constraint("latency", 4, 5)),
    ],
)
def test_where(text: str, constraint: Constraint) -> None:
    assert parse_where(text) == constraint


@pytest.mark.parametrize(
    "text", ["macs", "macs=3", "macs in 3", "macs in 5..3", "<=3", "macs<=", "macs<=x", "macs in 1...2"]
)
def test_bad_where(text: str) -> None:
    with pytest.raises(InputError):
        parse_where(text)


def test_limits_hold() -> None:
    window = Constraint("x", 1, 2)
    assert [window.holds(v) for v in (0.9, 1, 2, 2.1, nan)] == [False, True, True, False, False]
    half_open = Constraint("x", 1, 2, True, True)
    assert [half_open.holds(v) for v in (1, 1.5, 2)] == [False, True, False]


def test_text_reads_back() -> None:
    for text in ("macs<=300M", "macs>2K", "macs in 275M..325M"):
        assert parse_where(str(parse_where(text))) == parse_where(text)
    assert show_quantity(203_389_568) == "203.4M"
    assert show_quantity(-inf) == "-inf"


def test_constraints_intersect() -> None:
    merged = combine([Constraint("a", low=1), Constraint("a", high=5), Constraint("a", 0, 3, high_open=True)])
    assert merged == {"a": Constraint("a", 1, 3, high_open=True)}
    with pytest.raises(InputError, match="contradict"):
        combine([Constraint("a", low=3), Constraint("a", high=2)])
    with pytest.raises(InputError, match="contradict"):
        combine([Constraint("a", low=3), Constraint("a", high=3, high_open=True)])


def test_objectives() -> None:
    assert parse_objective("max c10_valid_200") == Objective("c10_valid_200", True)
    assert str(parse_objective(" min  cost/macs ")) == "min cost/macs"
    with pytest.raises(InputError, match="'max NAME' or 'min NAME'"):
        parse_objective("maximise x")


def test_short_names_resolve_to_full_ones() -> None:
    names = ["cost/macs", "table/acc", "valid/acc", "latency/ms"]
    assert resolve("macs", names) == "cost/macs"
    assert resolve("valid/acc", names) == "valid/acc"
    assert resolve("latency", names) == "latency/ms"
    with pytest.raises(InputError, match="ambiguous"):
        resolve("acc", names)
    with pytest.raises(UnknownNameError, match="did you mean 'macs'"):
        resolve("mac", names)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("accuracy>=200%", "at most 100 %"),
        ("accuracy<0", "never below 0"),
        ("latency<=0ms", "always above 0"),
        ("latency<=-1ms", "always above 0"),
        ("macs<=0", "always above 0"),
        ("latency<=3M", "latency is in ms"),
        ("valid/accuracy<=3ms", "valid/accuracy is in %"),
        ("macs<=40%", "a count, with K, M or G"),
        ("macs<=1e400", "finite"),
        ("macs<=٣M", "a number with an optional unit"),
        ("x" * 300, "NAME"),
    ],
)
def test_limits_that_nothing_can_satisfy(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        parse_where(text)


def test_what_people_say_elsewhere_is_understood() -> None:
    with pytest.raises(InputError, match="did you mean 'macs'"):
        resolve("flops", ["cost/macs", "proxy/synflow"])
