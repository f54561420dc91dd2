from __future__ import annotations

import json
import re
from collections.abc import Callable
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from supernetic.reports import write_report
from supernetic.space import Space

Make = Callable[..., Path]
SECTIONS = (
    "results", "models", "comparison", "drawings", "front", "trust", "search", "training", "folds", "layers", "data",
    "glossary",
)  # fmt: skip
NASTY = '<script>alert(1)</script>" onload="x\' & co'


class Elements(HTMLParser):
    """Counts elements and their attributes, and checks that what is opened is closed."""

    void = ("meta", "link", "br")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.stack: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in self.void:
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag


def sections(text: str) -> list[str]:
    return re.findall(r'<section id="section-(\w+)"', text)


@pytest.mark.parametrize("until", ["plan", "train", "search", "compare", "test", "models"])
def test_a_page_is_whole_at_every_step(make: Make, space: Space, until: str) -> None:
    path = make(until=until)
    file = write_report(path, space)
    assert file == path / "report.html"
    text = file.read_text()
    elements = Elements(text)
    assert elements.stack == []
    assert ("Still to come" in text) == (until not in ("test", "models"))
    assert not list(path.glob(".report*"))
    assert len(text) < 300_000


def test_all_sections_in_order(make: Make, space: Space) -> None:
    text = write_report(make(), space).read_text()
    assert sections(text) == [*SECTIONS, "again", "paste"]
    addresses = re.findall(r'href="(#[^"]+)"', text)
    assert [a.removeprefix("#section-") for a in addresses] == sections(text)


def test_the_model_to_take_comes_first(make: Make, space: Space) -> None:
    path = make(race=True)
    text = write_report(path, space).read_text()
    assert sections(text)[0] == "take"
    first = text[text.index("<h2>Take model-1</h2>") : text.index("<nav")]
    assert "Take model-1: 90.00 % of the test images right [88.6, 91.2]" in first
    assert "Why: it won a race of 9 networks in 3 rounds, by the validation accuracy to be expected" in first
    assert text.index("<h2>Take model-1</h2>") < text.index('id="section-front"')
    addresses = re.findall(r'href="(#[^"]+)"', text)
    assert [a.removeprefix("#section-") for a in addresses] == sections(text)
    assert Elements(text).stack == []


def test_a_run_without_a_recommendation_has_no_such_section(make: Make) -> None:
    assert "take" not in sections(write_report(make()).read_text())


def test_it_is_written_again_over_the_old_one(make: Make, space: Space) -> None:
    path = make()
    first = write_report(path, space).read_text()
    assert write_report(path, space).read_text() == first


def test_without_any_file_but_one(make: Make) -> None:
    path = make()
    for file in list(path.iterdir()):
        if file.name != "metrics.jsonl":
            file.rename(path.parent / f"away-{file.name}")
    assert "Training" in write_report(path).read_text()


def test_names_from_files_and_classes_cannot_speak(make: Make, space: Space) -> None:
    path = make()
    networks = json.loads((path / "networks.json").read_text())
    networks[3] |= {"label": NASTY, "role": "baseline", "failed": NASTY}
    networks[4] |= {"label": NASTY, "role": NASTY}
    (path / "networks.json").write_text(json.dumps(networks))
    (path / "trust.json").write_text((path / "trust.json").read_text().replace("random-1", json.dumps(NASTY)[1:-1]))
    text = write_report(path, space).read_text()
    elements = Elements(text)
    assert [t for t, _ in elements.found].count("script") == 2
    assert not any("onload" in attributes for _, attributes in elements.found)
    assert "<script>alert" not in text
    assert text.count("&lt;script&gt;alert(1)&lt;/script&gt;") >= 5  # class, source, table, comparison, legend


def test_nothing_outside_is_named(make: Make, space: Space) -> None:
    path = make()
    text = write_report(path, space).read_text()
    assert not re.search(r"https?:|@import|url\(", text)
    assert str(path.parent) not in text
    policy = next(a["content"] for t, a in Elements(text).found if t == "meta" and "content" in a and "http-equiv" in a)
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert "script-src 'sha256-" in policy


def test_links_lead_to_files_that_exist(make: Make, space: Space) -> None:
    path = make()
    (path / "models" / "model-1" / "model.onnx").unlink()
    links = [a["href"] for t, a in Elements(write_report(path, space).read_text()).found if t == "a"]
    files = [x for x in links if x and not x.startswith("#")]
    assert len(files) == 14
    assert all((path / unescape(x)).exists() for x in files)


def test_a_failed_training_is_told(make: Make) -> None:
    path = make()
    networks = json.loads((path / "networks.json").read_text())
    networks[4] |= {"failed": "the loss became NaN", "trained": {"valid/accuracy": None}, "test": None}
    (path / "networks.json").write_text(json.dumps(networks))
    assert "training failed: the loss became NaN" in write_report(path).read_text()


# --- in a browser -----------------------------------------------------------------------------------------------------

MIDDLE = """
const plot = document.getElementById("front"), m = plot.getScreenCTM();
const data = JSON.parse(document.getElementById("data").textContent);
const i = data.points.findIndex((p) => %s);
const p = new DOMPoint(data.points[i][0], data.points[i][1]).matrixTransform(m);
return [i, p.x, p.y, data.points[i][3]];
"""


@pytest.fixture
def report(make: Make, space: Space) -> Path:
    return write_report(make(), space)


@pytest.mark.parametrize("width", [1100, 380])
@pytest.mark.parametrize("dark", [False, True])
def test_it_opens_without_errors_requests_or_overflow(report: Path, browser: Any, width: int, dark: bool) -> None:
    browser.open(report, width=width, dark=dark)
    assert browser.log("browser") == []
    assert browser.requests() == [report.as_uri()]
    assert browser.run("return document.documentElement.scrollWidth") == width
    colour = browser.run("return getComputedStyle(document.body).backgroundColor")
    brightness = sum(map(int, re.findall(r"\d+", colour)))
    assert (brightness < 200) == dark


def test_pointing_tells_and_clicking_shows(report: Path, browser: Any) -> None:
    browser.open(report)
    browser.run('document.getElementById("front").scrollIntoView({block: "center", behavior: "instant"})')
    shown = "return document.getElementById('shown').querySelector('h3').textContent"
    assert browser.run(shown).startswith("model-3")
    i, x, y, name = browser.run(MIDDLE % 'p[2] === "front"')
    browser.point(x, y)
    assert browser.run("return [tip.hidden, tip.textContent.split('\\n')[0]]") == [False, name]
    assert "MACs" in browser.run("return tip.textContent")
    browser.point(x, y, click=True)
    assert browser.run(shown) == name
    assert browser.run("return document.querySelectorAll('#shown .block').length") == 11
    assert browser.run("return Number(document.getElementById('shown').dataset.i)") == i
    browser.point(5, 5)
    assert browser.run("return tip.hidden") is True


def test_every_trial_can_be_clicked(report: Path, browser: Any) -> None:
    browser.open(report, width=380)
    browser.run('document.getElementById("front").scrollIntoView({block: "center", behavior: "instant"})')
    _, x, y, name = browser.run(MIDDLE % 'p[2] === "trial" && p[1] > 200')
    browser.point(x, y, click=True)
    assert browser.run("return document.getElementById('shown').querySelector('h3').textContent") == name
    assert browser.run("return document.querySelectorAll('#shown .block').length") == 11


def test_the_keyboard_walks_along_the_front(report: Path, browser: Any) -> None:
    browser.open(report)
    stops = "return document.querySelectorAll('#front .dot[tabindex=\"0\"]').length"
    assert browser.run(stops) == 1
    browser.run("document.querySelector('#front .dot[tabindex=\"0\"]').focus()")
    before = browser.run("return document.activeElement.dataset.i")
    browser.press("\ue012")  # left
    after = browser.run("return document.activeElement.dataset.i")
    assert before != after
    assert browser.run(stops) == 1
    browser.press("\ue007")  # enter
    assert browser.run("return document.getElementById('shown').dataset.i") == after


COLLISIONS = """
const groups = document.querySelectorAll("svg.plot");
const boxes = (selector, plot) => [...plot.querySelectorAll(selector)].map((e) => e.getBoundingClientRect())
  .filter((b) => b.width > 0);
let bad = 0;
for (const plot of groups) {
  const names = boxes(".names text", plot), marks = boxes(".dot:not(.front) > *", plot);
  const hit = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 0.5
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3;
  names.forEach((a, i) => names.forEach((b, j) => { if (i < j && hit(a, b)) bad += 1; }));
  if (plot.id === "results") names.forEach((a) => marks.forEach((b) => { if (hit(a, b)) bad += 1; }));
}
return [bad, document.querySelectorAll("#results .names text").length];
"""


@pytest.mark.parametrize("width", [1280, 400])
def test_names_in_plots_do_not_collide(make: Make, space: Space, browser: Any, width: int) -> None:
    browser.open(write_report(make(race=True), space), width=width)
    bad, names = browser.run(COLLISIONS)
    assert bad == 0
    assert names >= 8


def test_accuracy_is_in_sight_on_a_phone(make: Make, space: Space, browser: Any) -> None:
    browser.open(write_report(make(race=True), space), width=400)
    head = "document.querySelector('#section-models th:nth-child(2)')"
    assert browser.run(f"return {head}.textContent") == "test"
    assert browser.run(f"return {head}.getBoundingClientRect().right") <= 400
    assert browser.run("return document.querySelector('#section-results').offsetTop") < browser.run(
        "return document.querySelector('#section-front').offsetTop"
    )


def test_the_table_is_sorted_by_pointer_and_keyboard(make: Make, space: Space, browser: Any) -> None:
    browser.open(write_report(make(race=True), space))
    column = """
        const i = [...document.querySelectorAll("#section-models th")].findIndex((h) => h.textContent === "%s");
        const table = document.querySelector("#section-models table");
        return [table.rows[0].cells[i].getAttribute("aria-sort"),
          [...table.tBodies[0].rows].map((row) => row.cells[i].firstChild.textContent)];
    """
    assert browser.run(column % "MACs")[0] is None
    browser.run("document.querySelectorAll('#section-models th button')[2].focus()")
    browser.press("\ue007")  # enter
    direction, values = browser.run(column % "MACs")
    assert (direction, values[0]) == ("descending", "1.391M")
    sizes = [float(v[:-1]) * {"K": 1e3, "M": 1e6}[v[-1]] for v in values]
    assert sizes == sorted(sizes, reverse=True)
    browser.press(" ")
    direction, values = browser.run(column % "MACs")
    assert (direction, values[0]) == ("ascending", "122.4K")
    assert browser.run("return document.activeElement.textContent") == "MACs"
    browser.run("document.querySelectorAll('#section-models th button')[3 + 1].click()")
    _, latencies = browser.run(column % "latency")
    assert latencies[:3] == ["0.412\N{NO-BREAK SPACE}ms", "0.2\N{NO-BREAK SPACE}ms", "–"], "what is unknown comes last"
    browser.run("document.querySelectorAll('#section-models th button')[3 + 1].click()")
    _, latencies = browser.run(column % "latency")
    assert latencies[:3] == ["0.2\N{NO-BREAK SPACE}ms", "0.412\N{NO-BREAK SPACE}ms", "–"]
    assert browser.run("return document.querySelectorAll('#section-models th[aria-sort]').length") == 1


def test_a_mark_of_the_first_plot_tells_how_long_it_was_trained(make: Make, space: Space, browser: Any) -> None:
    browser.open(write_report(make(race=True), space))
    browser.run("document.querySelector('#results').scrollIntoView({block: 'center', behavior: 'instant'})")
    box = browser.run(
        "const b = document.querySelector('#results .dot.chosen.full').getBoundingClientRect();"
        "return [(b.left + b.right) / 2, (b.top + b.bottom) / 2]"
    )
    browser.point(*box)
    told = browser.run("return tip.textContent").replace("\N{NO-BREAK SPACE}", " ")
    assert "test accuracy 90.00 % (88.6 to 91.2)" in told
    assert "trained for 12,340 steps (132 epochs)" in told


def test_texts_can_be_copied(report: Path, browser: Any) -> None:
    browser.open(report)
    browser.command("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    said = """
        const button = document.querySelector("#section-paste .copy");
        return new Promise((done) => {
            new MutationObserver(() => done(button.textContent)).observe(button, { childList: true });
            setTimeout(() => done(button.textContent), 10000);
            button.click();
        });
    """
    assert browser.run(said) in ("Copied", "Selected")


def test_print_opens_everything_and_is_light(report: Path, browser: Any) -> None:
    browser.open(report, dark=True)
    heights = "return [...document.querySelectorAll('details')].map((d) => d.getBoundingClientRect().height)"
    closed = browser.run(heights)
    browser.command("Emulation.setEmulatedMedia", media="print")
    opened = browser.run(heights)
    assert all(b > a + 20 for a, b in zip(closed, opened, strict=True))
    assert browser.run("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert browser.run("return document.querySelector('nav').offsetHeight") == 0
    browser.command("Emulation.setEmulatedMedia", media="")
    assert browser.pdf().startswith(b"%PDF")


def test_a_page_of_the_first_minute_opens(make: Make, browser: Any) -> None:
    browser.open(write_report(make(until="plan")), width=380)
    assert browser.log("browser") == []
    assert browser.run("return document.getElementById('status').textContent") == "next: training the supernet"
