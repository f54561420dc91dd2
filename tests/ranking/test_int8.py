"""What a model loses in 8-bit integers, as facts and in sentences."""

import tomllib
from pathlib import Path

import numpy as np
import pytest

from supernetic.ranking.int8 import accuracy_text, difference, difference_text, int8_sentences, loses_much, warning
from supernetic.ranking.verdict import paired_interval

ROOT = Path(__file__).parents[2]


def right(n: int, wrong: int) -> np.ndarray:
    answers = np.ones(n, dtype=bool)
    answers[:wrong] = False
    return answers


def test_the_difference_is_over_the_same_images() -> None:
    quantised, floats = right(1000, 30), right(1000, 10)
    facts = difference("valid", quantised, floats)
    low, high = paired_interval(quantised, floats)
    assert facts == {
        "valid/accuracy": pytest.approx(97.0),
        "valid/difference": pytest.approx(-2.0),
        "valid/low": pytest.approx(100 * low),
        "valid/high": pytest.approx(100 * high),
        "valid/images": 1000,
    }
    assert difference_text(facts, "valid").startswith("-2.00 points [-2.")
    assert difference_text(facts, "test") == ""


@pytest.mark.parametrize(("images", "wrong", "much"), [(1000, 20, True), (1000, 9, False), (50, 1, False)])
def test_a_loss_counts_if_it_is_large_and_no_chance(images: int, wrong: int, much: bool) -> None:
    facts = difference("valid", right(images, wrong), right(images, 0))
    assert loses_much(facts) == much
    assert any("use its float files" in s for s in int8_sentences("model-1", facts)) == much


def test_only_validation_images_decide() -> None:
    facts = difference("test", right(1000, 100), right(1000, 0))
    assert not loses_much(facts)


def test_sentences() -> None:
    valid, test = (difference(s, right(1000, 30), right(1000, 10)) for s in ("valid", "test"))
    assert accuracy_text(valid).startswith("97.00 % of the validation images right, -2.00 points [")
    whole = {**valid, **test, "latency/ms": 0.5, "latency/float_ms": 1.0, "bytes": 25_000, "float_bytes": 100_000}
    first, second = int8_sentences("model-1", whole)
    assert first.startswith("model-1 in int8: 97.00 % of the test images right, -2.00 points [")
    assert first.endswith("from float, 0.5 ms an image (0.50 times float's), 25KB (0.25 times).")
    assert second == warning("model-1", whole)
    assert "loses 2.00 points on validation images" in second
    assert accuracy_text({}) == ""


def test_the_page_has_the_numbers_of_the_record() -> None:
    text = (ROOT / "docs/findings/int8.md").read_text(encoding="utf-8")
    record = tomllib.loads((ROOT / "experiments/int8.toml").read_text(encoding="utf-8"))
    assert record["obtained"]
    for name, found in record["obtained"].items():
        bounds = f"{found['difference']:+.2f} [{found['low']:+.2f}, {found['high']:+.2f}]"
        assert f"| {name} | {found['float']:.2f} | {found['int8']:.2f} | {bounds} |" in text
    processors = tomllib.loads((ROOT / "experiments/int8_avx2.toml").read_text(encoding="utf-8"))
    assert processors["held"], "the same logits on a processor without VNNI"
