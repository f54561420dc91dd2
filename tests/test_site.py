"""The site: what is generated is true, what is not run says so, and the pages open in a browser without a network."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import supernetic

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
LOOKED_AT = (
    "index", "start/photographs", "concepts/sharing", "reference/commands", "reference/python", "gallery/index",
    "notebooks/own-loop", "papers/scarlet-nas", "search",
)  # fmt: skip
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]

sys.path.insert(0, str(DOCS))
import blocks  # noqa: E402
import generated  # noqa: E402
import notebook_pages  # noqa: E402
from drawings import PICTURES, PICTURES_BY_NAME  # noqa: E402


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


# --- blocks -----------------------------------------------------------------------------------------------------------

SESSIONS = [
    (page, b) for page in PAGES[1:] for b in blocks.blocks(text_of(page)) if b.language == "console" and b.is_run
]
FORMS = [page for page in PAGES if any(b.is_form for b in blocks.blocks(text_of(page)))]


def test_every_block_is_run_or_says_why_not() -> None:
    for page in PAGES:
        assert not blocks.unmarked(text_of(page)), name_of(page)


@pytest.mark.parametrize(("page", "block"), SESSIONS, ids=lambda x: name_of(x) if isinstance(x, Path) else "")
def test_console_blocks_print_what_the_page_says(page: Path, block: blocks.Block, tmp_path: Path) -> None:
    command, output = blocks.session(block)
    name, *arguments = shlex.split(command)
    assert name == blocks.PROGRAM
    done = subprocess.run(
        [sys.executable, "-m", "supernetic.cli", *arguments],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "120"},
    )
    assert done.stdout.rstrip() == output.rstrip()


@pytest.mark.parametrize("page", FORMS, ids=name_of)
def test_commands_that_are_not_run_have_options_that_exist(page: Path) -> None:
    """A form such as `supernetic search photos/ --minutes 60` is parsed as the command line would."""
    from typer.main import get_command

    from supernetic.cli import app

    for block in blocks.blocks(text_of(page)):
        for arguments in blocks.commands(block):
            command: Any = get_command(app)
            if {"...", "COMMAND"} & set(arguments) or not arguments or arguments[0].startswith("-"):
                continue
            while hasattr(command, "commands"):
                name, *arguments = arguments
                assert name in command.commands, f"{name_of(page)}: supernetic {name}"
                command = command.commands[name]
            command.make_context(name, list(arguments))


def test_a_block_that_nobody_runs_is_found() -> None:
    page = "Look:\n\n```{}\nsupernetic spaces\n```\n"
    assert blocks.unmarked(page.format("bash"))
    assert not blocks.unmarked("<!-- not run: no shell -->\n" + page.format("bash").partition("\n\n")[2])
    assert not blocks.unmarked(page.format("python"))  # these are run
    shown = blocks.with_visible_marks("<!-- not run: needs an hour -->\n```python\nsearch()\n```\n")
    assert 'class="not-run">Not run here: needs an hour<' in shown
    assert "Not run here" in blocks.with_visible_marks(page.format(""))
    assert "Not run here" not in blocks.with_visible_marks(page.format("console"))


# --- generated parts --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", ["README.md", "docs/start/README.md"])
def test_the_table_of_outcomes_is_that_of_the_record(page: str) -> None:
    text = text_of(ROOT / page)
    assert generated.outcome() in text, "run: python docs/generated.py"
    assert generated.with_outcomes(text) == text


def test_every_mark_is_known() -> None:
    used = {name for page in PAGES for name in generated.MARK.findall(text_of(page))}
    assert used == set(generated.PARTS)


def test_every_command_and_option_is_in_the_reference() -> None:
    from typer.main import get_command

    from supernetic.cli import app

    text = generated.commands()
    root: Any = get_command(app)
    for name, command in root.commands.items():
        assert f"### supernetic {name}\n" in text
        part = text.partition(f"### supernetic {name}\n")[2].partition("\n### ")[0]
        for option in command.params:
            if option.param_type_name == "option" and option.name != "help" and not option.hidden:
                assert option.opts[0] in part, f"{name} {option.opts[0]}"


def test_every_public_name_is_documented() -> None:
    assert generated.undocumented() == []
    assert {name for names in generated.public_names().values() for name in names} == set(supernetic.__all__)


def test_a_public_name_without_a_docstring_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supernetic.Supernet.extract, "__doc__", None)
    assert generated.undocumented() == ["Supernet.extract"]
    with pytest.raises(ValueError, match=r"Supernet\.extract"):
        generated.api()


def test_keys_of_files_have_types_and_sentences() -> None:
    recipe = generated.recipes()
    assert '| `optimiser` | `"sgd"`, `"rmsprop"`, `"adam"` | `"sgd"` |' in recipe
    assert "| `clip_norm` | number | `0.0` | 0: gradients are not clipped |" in recipe
    assert "| `width` | list of whole number | required |" in generated.spaces()
    assert "| `minutes` | number | `none` |" in generated.requests()


def test_drawings_are_those_of_the_script() -> None:
    for name, draw in PICTURES_BY_NAME.items():
        assert (PICTURES / f"{name}.svg").read_text(encoding="utf-8") == draw().svg(), "run: python docs/drawings.py"


def test_the_gallery_is_small_and_its_outputs_are_those_that_pages_show() -> None:
    for file in (DOCS / "gallery").iterdir():
        assert file.stat().st_size < 1_000_000, file.name
    assert text_of(DOCS / "gallery/leaves.txt").rstrip() in text_of(DOCS / "start/photographs.md")


# --- notebooks --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("notebook", sorted((DOCS / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
@pytest.mark.filterwarnings("default")  # of Jupyter's own
def test_notebooks_run(notebook: Path, tmp_path: Path) -> None:
    for package in ("nbclient", "ipykernel", "matplotlib", "pandas"):
        pytest.importorskip(package)
    done = notebook_pages.run(notebook, tmp_path)  # an error in a cell is raised
    kept = notebook_pages.markdown(notebook)
    for cell in done.cells:
        if cell.cell_type == "code":
            assert cell.source in kept


def test_notebooks_have_their_outputs_and_no_errors() -> None:
    notebooks = sorted((DOCS / "notebooks").glob("*.ipynb"))
    assert len(notebooks) == 3
    for notebook in notebooks:
        page = notebook_pages.markdown(notebook)
        assert page.count('<pre class="output">') >= 3
        assert "<img " in page
        assert "Traceback" not in page


def test_every_page_has_a_line_in_the_navigation() -> None:
    text = text_of(ROOT / "mkdocs.yml")
    decisions = {f"decisions/{p.name}" for p in (DOCS / "decisions").glob("0*.md")}  # listed on a page of their own
    nav = set(re.findall(r"^ +- (?:.*: )?([\w/-]+\.md)$", text[text.index("\nnav:") :], re.M))
    pages = {str(p.relative_to(DOCS)) for p in DOCS.rglob("*.md")} - decisions
    made = {f"notebooks/{p.stem}.md" for p in (DOCS / "notebooks").glob("*.ipynb")} | {
        "contributing.md",
        "changelog.md",
    }
    assert pages | made <= nav, f"add to mkdocs.yml: {sorted((pages | made) - nav)}"


# --- the whole site ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built strictly: any warning is an error."""
    pytest.importorskip("mkdocs", reason="needs the extra docs")
    place = tmp_path_factory.mktemp("site") / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(place)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    return place


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """The site on a server of this machine."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        pytest.skip("needs Debian's chromium and chromium-driver")
    spec = importlib.util.spec_from_file_location("report_fixtures", ROOT / "tests/reports/conftest.py")
    assert spec is not None
    assert spec.loader is not None
    fixtures = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fixtures)
    browser = fixtures.Browser(tmp_path_factory.mktemp("browser"))
    yield browser
    browser.close()


@pytest.mark.slow
def test_everything_is_within_two_clicks(site: Path) -> None:
    """Every page of the site is in the navigation of the first one."""
    home = (site / "index.html").read_text(encoding="utf-8")
    pages = {str(p.relative_to(site)) for p in site.rglob("*.html")}
    apart = re.compile(r"(decisions/0.*|gallery/\w+|sample/\w+|404|contents)\.html")
    listed = set(re.findall(r'href="([^"#:]+\.html)"', home))
    assert {p for p in pages if not apart.fullmatch(p)} - {"index.html"} <= listed


@pytest.mark.slow
def test_blocks_that_were_not_run_say_so_on_the_site(site: Path) -> None:
    page = (site / "models.html").read_text(encoding="utf-8")
    assert "Not run here: needs a finished search" in page
    assert "<!-- not run" not in page


@pytest.mark.slow
def test_references_have_what_a_stranger_looks_for(site: Path) -> None:
    python = (site / "reference/python.html").read_text(encoding="utf-8")
    for name in supernetic.__all__:
        assert f'id="supernetic.{name}"' in python, name
    assert 'id="supernetic-search"' in (site / "reference/commands.html").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("page", LOOKED_AT)
def test_pages_in_a_browser(address: str, browser: Any, page: str, width: int, dark: bool) -> None:
    browser.visit(f"{address}/{page}.html", width=width, dark=dark)
    elsewhere = [r for r in browser.requests() if not r.startswith((address, "data:", "about:", "blob:", "chrome"))]
    assert elsewhere == [], "nothing is fetched from other hosts"
    faults = [e["message"] for e in browser.log("browser") if e["level"] == "SEVERE" and "favicon" not in e["message"]]
    assert faults == []
    assert browser.run("return document.documentElement.scrollWidth") <= width, "nothing is cut off"
    shade = browser.run("return getComputedStyle(document.body).backgroundColor")
    light = sum(map(int, re.findall(r"\d+", shade)[:3])) / 3
    assert (light < 100) == dark, shade
    assert browser.run("return document.querySelectorAll('article h1').length") == 1
    broken = "return [...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)"
    assert browser.run(broken) == []
    tall = browser.run("return document.documentElement.scrollHeight") > 20_000  # more than a screenshot can hold
    if (pictures := os.environ.get("SITE_PICTURES")) and not tall:
        name = f"{page.replace('/', '-')}-{width}-{'dark' if dark else 'light'}.png"
        browser.picture(Path(pictures) / name)


@pytest.mark.slow
def test_the_search_of_the_site_finds_words(address: str, browser: Any) -> None:
    browser.visit(f"{address}/index.html?q=stabiliser", width=1280)
    found = "return [...document.querySelectorAll('.md-search-result__item')].length"
    for _ in range(100):
        if browser.run(found):
            break
        threading.Event().wait(0.1)
    assert browser.run(found) > 0
