from __future__ import annotations

import re
from pathlib import Path

import pytest

from supernetic import catalog
from supernetic.reports.glossary import BLOCKS, NOTATIONS, PROXIES, TERMS, block_names

DOCS = Path(__file__).parents[2] / "docs"


def plain(text: str) -> str:
    """A page without links, emphasis and line ends."""
    return " ".join(re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", text).replace("*", "").split())


def test_terms_are_those_of_the_documentation() -> None:
    page = plain((DOCS / "glossary.md").read_text())
    for term, meaning in TERMS.items():
        said = page[page.index(f"{term}: ") :][:700]
        for sentence in re.findall(r"[^.]+\.", meaning):
            assert sentence.rstrip(".").strip() in said, (term, sentence)


def test_proxies_are_those_of_the_documentation() -> None:
    rows = [line.split("|") for line in (DOCS / "proxies.md").read_text().splitlines() if line.startswith("| `")]
    documented = {f"proxy/{name}": row[3].strip() for row in rows for name in re.findall(r"`(\w+)`", row[1])}
    assert documented == PROXIES


@pytest.mark.parametrize("name", ["mixed", "macro", "nasbench201", "scarlet-s1", "attentive", "nasbench101-chain"])
def test_blocks_of_spaces_are_explained(name: str) -> None:
    space = catalog.space(name)
    some = next(iter(space.named.values()), (0,) * len(space.choices))
    labels = {layer.label for layer in space.blueprint(some)}
    assert all(block_names([label]) for label in labels), labels


def test_blocks_are_told_once_for_all_sizes() -> None:
    assert block_names(["MB6_K5_SE", "MB3_K3", "LINEAR"]) == [BLOCKS["MB"], BLOCKS["LINEAR"]]


@pytest.mark.parametrize("name", ["mixed", "macro", "nasbench101-chain"])
def test_names_of_architectures_can_be_read(name: str) -> None:
    catalog.space(name).parse(NOTATIONS[name][0])
