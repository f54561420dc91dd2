from __future__ import annotations

from functools import partial
from typing import Any

from supernetic.jobs.optimise.function import record_of
from supernetic.space import Arch


def rate(arch: Arch, weight: float = 1.0, table: Any = None) -> float:
    return weight * sum(arch)


class Rater:
    def __call__(self, arch: Arch) -> float:
        return rate(arch)

    def method(self, arch: Arch) -> float:
        return rate(arch)


def test_functions_methods_and_objects_are_told_apart() -> None:
    kinds = [rate, Rater(), Rater().method, lambda arch: 1.0, lambda arch: 2.0]
    records = [record_of(kind) for kind in kinds]
    names = [record["function"].removeprefix(f"{__name__}:") for record in records]
    assert names[:3] == ["rate", "Rater", "Rater.method"]
    assert names[3].endswith("<lambda>")
    assert len({record["digest"] for record in records[:4]}) == 4


def test_the_same_function_has_the_same_record() -> None:
    assert record_of(rate) == record_of(rate)
    assert record_of(Rater()) == record_of(Rater())


def test_plain_arguments_of_partial_functions_count() -> None:
    half, third = (record_of(partial(rate, weight=w, table=object())) for w in (1 / 2, 1 / 3))
    assert half["arguments"] == {"weight": 0.5}  # an object has no words that stay the same
    assert half != third
    assert half["function"] == third["function"] == record_of(rate)["function"]


def test_what_has_no_source_has_no_digest() -> None:
    names: dict[str, Any] = {}
    exec("def typed(arch): return 1.0", {"__name__": "prompt"}, names)
    assert record_of(names["typed"]) == {"function": "prompt:typed", "digest": None, "arguments": None}
    assert record_of(sum)["function"] == "builtins:sum"
