"""What a release consists of says the same everywhere."""

import re
import tomllib
from datetime import date
from pathlib import Path

import pytest

import supernetic

ROOT = Path(__file__).parents[1]
CONFIGURATIONS = [".pre-commit-config.yaml", *(f".github/ISSUE_TEMPLATE/{n}.yml" for n in ("bug", "idea", "number"))]


def citation() -> dict[str, str]:
    lines = (ROOT / "CITATION.cff").read_text(encoding="utf-8").splitlines()
    return dict(line.split(": ", 1) for line in lines if re.match(r"[a-z-]+: ", line))


def test_the_version_is_the_same_everywhere() -> None:
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    released = [h for h in headings if h != "Unreleased"]
    assert released[0] == supernetic.__version__.partition(".dev")[0]
    assert citation()["version"] == supernetic.__version__
    assert date.fromisoformat(citation()["date-released"]) > date(2026, 1, 1)
    assert "version" in tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dynamic"]


def test_every_extra_of_a_message_exists() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for path in (ROOT / "src").rglob("*.py"):
        for name in re.findall(r"supernetic\[(\w+)\]", path.read_text(encoding="utf-8")):
            assert name in extras, f"{path.name}: {name}"


def test_pins_are_exact_and_cover_the_extras() -> None:
    pins = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[\w.-]+==[\w.+!]+", pin) for pin in pins)
    pinned = {re.sub(r"[-_.]+", "-", pin.partition("==")[0]).lower() for pin in pins}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *(d for extra in project["optional-dependencies"].values() for d in extra)]
    names = {re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", d)[0]).lower() for d in wanted}  # type: ignore[index]
    assert names <= pinned


@pytest.mark.parametrize(
    "file", [".pre-commit-config.yaml", *(f".github/ISSUE_TEMPLATE/{n}.yml" for n in ("bug", "idea", "number"))]
)
def test_configurations_can_be_read(file: str) -> None:
    yaml = pytest.importorskip("yaml")
    content = yaml.safe_load((ROOT / file).read_text(encoding="utf-8"))
    if file.startswith(".pre"):
        entries = [hook["entry"] for repo in content["repos"] for hook in repo["hooks"]]
        assert all(repo["repo"] == "local" for repo in content["repos"])  # nothing is downloaded
        for path in re.findall(r"\.ci/\S+", " ".join(entries)):
            assert (ROOT / path).exists()
    else:
        assert {"name", "description", "body"} <= content.keys()
        assert all({"type", "id", "attributes"} <= part.keys() for part in content["body"])
