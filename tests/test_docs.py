"""The pages of the documentation: links lead somewhere, every page can be found, Python blocks run."""

from __future__ import annotations

import re
import runpy
import sys
import tomllib
from pathlib import Path

import pytest

import supernetic

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(#[^)\s]+)?\)")
MARK = "---- block {} ----"

sys.path.insert(0, str(DOCS))
import blocks as code_blocks  # noqa: E402  # what the site shows as run is what is run here
from blocks import FENCE, NOT_RUN, Block  # noqa: E402


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def prose(page: Path) -> str:
    """The page without its code blocks."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def links(page: Path) -> list[tuple[Path, str]]:
    """Relative links: the file that each leads to, and its anchor."""
    return [((page.parent / file).resolve() if file else page, anchor) for file, anchor in LINK.findall(prose(page))]


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and others make them."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.M)
    return {"#" + re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


# --- pages ------------------------------------------------------------------------------------------------------------


def test_papers_are_as_the_modules_say() -> None:
    made: str = runpy.run_path(str(DOCS / "papers.py"))["table"]()
    assert (DOCS / "papers.md").read_text(encoding="utf-8") == made


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_to_files_and_headings(page: Path) -> None:
    for target, anchor in links(page):
        assert target.exists(), f"{name_of(page)} links to {target}"
        if anchor:
            assert anchor in anchors(target), f"{name_of(page)} links to {target.name}{anchor}"


@pytest.mark.parametrize("start", [ROOT / "README.md", DOCS / "README.md"], ids=name_of)
def test_every_page_can_be_reached(start: Path) -> None:
    reached, todo = {start}, [start]
    while todo:
        for target, _ in links(todo.pop()):
            if target.suffix == ".md" and target not in reached:
                reached.add(target)
                todo.append(target)
    decisions = set((DOCS / "decisions").glob("0*.md"))  # the folder is linked as a whole
    assert set(PAGES) - decisions <= reached, sorted(map(name_of, set(PAGES) - decisions - reached))


def test_the_index_has_a_line_for_every_page_of_its_folder() -> None:
    for folder in (DOCS, DOCS / "findings"):
        listed = {target for target, _ in links(folder / "README.md")}
        missing = set(folder.glob("*.md")) - {folder / "README.md"} - listed
        assert not missing, sorted(map(name_of, missing))


@pytest.mark.parametrize("page", ["ranking", "reproduction", "studies"])
def test_a_gain_with_true_accuracies_stands_beside_that_with_supernets(page: str) -> None:
    """What a floor on accuracy gains on a table says little about a supernet: no page may show it alone."""
    text = (DOCS / f"findings/{page}.md").read_text(encoding="utf-8")
    table, supernets = (
        tomllib.loads((ROOT / f"experiments/{name}.toml").read_text(encoding="utf-8"))
        for name in ("search_acc_min", "searching_acc_min")
    )
    gains = [o["hypervolume_gained"]["mean"] for o in supernets["obtained"].values()]
    lines = text[text.index("floor") :]
    for part in ("search_acc_min.toml", "searching_acc_min.toml"):
        assert f"experiments/{part}" in lines
    for gain in (table["obtained"]["gain"]["mean"], max(gains)):
        assert f"+{gain:.3f}".replace("+0.", "+.") in lines
    assert not supernets["held"]


def test_papers_go_by_their_names() -> None:
    for page in set(PAGES) - {DOCS / "papers.md"}:  # that page is made from the modules
        assert not re.search(r"\bpapers? 00\d|\b00[0-4]'s\b", page.read_text(encoding="utf-8")), name_of(page)


def test_every_public_name_is_in_the_reference() -> None:
    text = (DOCS / "python.md").read_text(encoding="utf-8")
    reference = text[text.index("## Public names") :]
    rows = {name for row in re.findall(r"^\| (`.*?) \|", reference, re.M) for name in re.findall(r"`(\w+)`", row)}
    assert rows == set(supernetic.__all__)


# --- Python blocks ----------------------------------------------------------------------------------------------------


def blocks(page: Path) -> list[Block]:
    """Python blocks that can be run: a comment above the fence says why others are not."""
    found = code_blocks.blocks(page.read_text(encoding="utf-8"))
    return [block for block in found if block.language == "python" and block.is_run]


def declared_files(page: Path) -> dict[str, str]:
    """TOML blocks that begin with the name of a file."""
    tables = [code for language, code in FENCE.findall(page.read_text(encoding="utf-8")) if language == "toml"]
    return {name[1]: code for code in tables if (name := re.match(r"# (\w+\.toml)\n", code))}


WITH_CODE = [page for page in PAGES if blocks(page)]


def test_most_pages_with_python_run() -> None:
    assert len(WITH_CODE) >= 8
    skipped = [page for page in PAGES if NOT_RUN.search(page.read_text(encoding="utf-8"))]
    assert len(skipped) < len(WITH_CODE)


@pytest.mark.parametrize("page", WITH_CODE, ids=name_of)
def test_python_blocks_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The blocks of a page are one script, as a reader would type them; `text` behind a block is what it prints."""
    monkeypatch.chdir(tmp_path)
    for name, content in declared_files(page).items():
        Path(name).write_text(content)
    code = blocks(page)
    script = "".join(f"{block.code}\nprint({MARK.format(i)!r})\n" for i, block in enumerate(code))
    Path("page.py").write_text(script)
    runpy.run_path("page.py", run_name="page")
    printed = capsys.readouterr().out
    for i, block in enumerate(code):
        output, _, printed = printed.partition(MARK.format(i) + "\n")
        if block.output is not None:
            assert output == block.output, f"block {i} of {name_of(page)}"
