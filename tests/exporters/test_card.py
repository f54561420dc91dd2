"""A model's page says what is so, whatever its classes are called."""

import json
import re
from dataclasses import replace
from html import unescape
from math import nan

import numpy as np
import pytest
import torch
from markdown_it import MarkdownIt

from supernetic.datasets import load
from supernetic.datasets.batches import Batches
from supernetic.exporters.card import Card, escape, page

CARD = Card(
    name="model-1",
    task="Clothes.",
    classes=("coat", "bag"),
    resolution=28,
    channels=1,
    mean=(0.28,),
    std=(0.35,),
    arch="MB3_K5",
    space="macro:channels=4",
    macs=1_234_567,
    params=8_901,
    metrics={"test/accuracy": 81.25, "valid/cross_entropy": 0.5, "latency/ms": 1.5},
    seeds=(3,),
    recipe="small, 20 steps",
    notes=("Trained briefly.",),
    licence="MIT",
)


@pytest.mark.parametrize("resolution", [28, 20])
def test_images_are_prepared_as_training_prepares_them(resolution: int) -> None:
    data = load(limit=60)
    card = replace(CARD, resolution=resolution, data_resolution=28, mean=data.mean, std=data.std)
    ours = card.prepare(data.images[data.splits["test"]])
    (theirs, _) = next(Batches(data, "test", 256, resolution=resolution).evaluate())
    assert ours.shape == theirs.shape == (len(data.splits["test"]), 1, resolution, resolution)
    assert torch.allclose(ours, theirs, atol=1e-5)


def test_the_record_holds_the_card() -> None:
    odd = replace(CARD, data_resolution=32)
    for card in (CARD, odd):
        assert Card.from_json(json.loads(json.dumps(card.to_json(), allow_nan=False))) == card
    assert "resized as floats" in odd.to_json()["preprocessing"]["resize"]
    spoilt = replace(CARD, metrics={"test/accuracy": nan})
    assert spoilt.to_json()["metrics"] == {"test/accuracy": None}
    assert np.isnan(Card.from_json(spoilt.to_json()).metrics["test/accuracy"])


def test_the_page_says_what_was_measured_on_what() -> None:
    text = page(CARD, 3e-7)
    for row in (
        "| accuracy | 81.25 % | test images |",
        "| cross entropy | 0.5 nats | validation images |",
        "| latency | 1.5 ms | one machine |",
        "| parameters | 8,901 |",
        "1,234,567",
        "One training, seed 3.",
        "3.0e-07",
        "The licence of the training images is: MIT.",
    ):
        assert row in text
    assert "onnxruntime" not in page(CARD, None)
    assert "No measurements were recorded" in page(replace(CARD, metrics={}), None)
    assert "not a number" in page(replace(CARD, metrics={"test/accuracy": nan}), None)
    many = page(replace(CARD, classes=tuple(f"class{i}" for i in range(100))), None)
    assert "and 80 more" in many
    assert "class20" not in many


def test_its_python_is_python() -> None:
    blocks = re.findall(r"```python\n(.*?)```", page(CARD, 0.0), re.S)
    assert len(blocks) == 2
    for block in blocks:
        compile(block, "README.md", "exec")
    assert [len(block.strip().splitlines()) for block in blocks] == [4, 3]


@pytest.mark.parametrize(
    "name",
    ["<script>alert(1)</script>", "a|b", "[x](http://y)", "# heading", "- item", "`c`", "*b*_c_", "a\nb", "\x1b[31m"],
)
def test_names_from_outside_stay_text(name: str) -> None:
    nasty = replace(CARD, name=name, task=name, classes=(name, "b"), arch=name, notes=(name,), licence=name)
    plain = replace(CARD, name="x", task="x", classes=("x", "b"), arch="x", notes=("x",), licence="x")
    text = page(nasty, None)
    assert len(text.splitlines()) == len(page(plain, None).splitlines()), "one line stays one line"
    assert "<" not in text
    assert "\x1b" not in text
    prose = re.sub(r"```.*?```", "", text, flags=re.S)
    cells = [re.split(r"(?<!\\)\|", line) for line in prose.splitlines() if line.startswith("|")]
    assert {len(c) for c in cells} == {4, 5}, "no cell was split"
    assert not re.search(r"(?<!\\)\[", prose)


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("ankle boot", "ankle boot"),
        ("t-shirt 1.5", "t-shirt 1.5"),
        ("MB6_K7_SE", "MB6_K7_SE"),
        (" a\tb\u2028c ", "a b c"),
        ("_a_ *b* `c`", r"\_a\_ \*b\* \`c\`"),
        ("# a", r"\# a"),
        ("12. a", r"12\. a"),
        ("a|b~c\\", r"a\|b\~c\\"),
        ("<b>&", "&lt;b&gt;&amp;"),
        ("see http://x.y www.z.org", r"see http\://x.y www\.z.org"),
    ],
)
def test_escaping_changes_only_what_markdown_would(text: str, escaped: str) -> None:
    assert escape(text) == escaped


MARKUP = (
    "<i>", "a|b", "[x](y)", "![x](y)", "# h", "- i", "+ i", "* i", "12. i", "3) i", "`c`", "*b*_c_", "__b__", "~~s~~",
    "===", "---", "&lt;", "\\", "> q",
)  # fmt: skip


@pytest.mark.parametrize("text", MARKUP)
@pytest.mark.parametrize("form", ["{}", "- {}", "# {}", "| {} | b |\n|---|---|"])
def test_a_reader_of_markdown_sees_the_text_itself(text: str, form: str) -> None:
    def words(markdown: str) -> str:
        return unescape(re.sub(r"<[^>]*>", "", reader.render(markdown))).strip()

    reader = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    assert words(form.format(escape(text))).split() == words(form.format("@@")).replace("@@", text).split()
