"""The card says what a model loses in 8-bit integers, and only what was measured."""

from supernetic.exporters.int8_card import int8_section

FACTS = {
    "calibration/images": 256.0,
    "valid/accuracy": 80.0,
    "valid/difference": -2.5,
    "valid/low": -3.5,
    "valid/high": -1.5,
    "valid/images": 2000,
    "test/accuracy": 79.0,
    "test/difference": -2.0,
    "test/low": -2.9,
    "test/high": -1.1,
    "test/images": 10_000,
    "latency/ms": 0.5,
    "latency/float_ms": 1.0,
    "bytes": 50_000,
    "float_bytes": 200_000,
}


def test_both_files_stand_side_by_side() -> None:
    text = "\n".join(int8_section(FACTS))
    assert "| accuracy | 81.00 % | 79.00 % | -2.00 points [-2.90, -1.10] | 10,000 test images |" in text
    assert "| accuracy | 82.50 % | 80.00 % | -2.50 points [-3.50, -1.50] | 2,000 validation images |" in text
    assert "| latency | 1 ms | 0.5 ms | 0.50 times | one machine |" in text
    assert "| size | 200KB | 50KB |  | the files |" in text
    assert "256 training images" in text
    assert "**This model loses 2.50 points on validation images in int8, more than 1" in text


def test_what_was_not_measured_is_left_out() -> None:
    few = {k: v for k, v in FACTS.items() if k.startswith("valid/")} | {"valid/difference": -0.2, "valid/high": 0.8}
    text = "\n".join(int8_section(few))
    assert "test images" not in text
    assert "latency" not in text
    assert "| size" not in text
    assert "loses" not in text
    assert "training images" not in text
