"""The shape of the house: imports point one way, the numpy wing stays free of torch, public names are real."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import supernetic

PACKAGE = Path(supernetic.__file__).parent
TESTS = Path(__file__).parent

# A module imports only from lower layers. Rooms on one line do not import one another.
LAYERS = [
    ["numerals", "reading", "errors"],
    ["capacity", "result", "text", "progress", "metrics"],
    ["arrays"],
    ["parallel"],
    ["blueprint", "objective", "calibration", "classification", "datasets", "settings", "hardware"],
    ["space", "pareto", "stabiliser"],
    ["strategy", "nn"],
    ["spaces"],
    ["costs", "ranking", "benchmarks"],
    ["catalog"],
    ["runs"],
    ["supernets", "samplers", "predictors", "families", "selection", "diagnostics", "tracking"],
    ["derivation", "scaling"],
    ["training", "exporters"],
    ["networks", "pretrained", "detection"],
    ["timing", "proxies"],
    ["evaluators"],
    ["searchers"],
    ["reports", "trials"],
    ["model_names"],
    ["jobs"],
    ["lab"],
    ["commands"],
    ["cli", "testing"],
    ["__main__"],
]
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}
# The same inside rooms that have rooms of their own.
INSIDE = {
    "jobs": [
        ["request", "time_plan", "speed"],
        ["request_file", "glance"],
        ["request_text"],
        ["job"],
        ["train", "detect"],
        ["select"],
        ["compare"],
        ["search", "optimise", "transfer"],
        ["scale"],
        ["finish"],
    ],
    "runs": [
        ["files", "durable"],
        ["directory"],
        ["trust", "records"],
        ["request", "location", "predictions", "curves"],
        ["space_record"],
        ["view"],
        ["overview"],
    ],
}
TORCH_WING = {
    "nn",
    "datasets",
    "supernets",
    "training",
    "derivation",
    "exporters",
    "timing",
    "proxies",
    "evaluators",
    "networks",
    "pretrained",
    "detection",
    "lab",
}
METHODS = ["spaces", "searchers", "samplers", "proxies", "families"]
NOT_METHODS = {
    "__init__",
    "problem",
    "runner",
    "variation",
    "declared",
    "step",
    "named",
    "settings",
    "extremes",
    "checks",
    "candidate_model",
}


def files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports_of(path: Path, *, lazy: bool) -> set[str]:
    """Rooms that a file imports; inside functions too if lazy."""
    here = ["supernetic", *path.relative_to(PACKAGE).with_suffix("").parts]
    tree = ast.parse(path.read_text())
    found: set[str] = set()
    for node in ast.walk(tree) if lazy else tree.body:
        if isinstance(node, ast.ImportFrom):
            base = here[: -node.level] if node.level else []
            full = base + (node.module.split(".") if node.module else [])
            targets = [[*full, a.name] for a in node.names] if full == ["supernetic"] else [full]
            found |= {t[1] for t in targets if t[0] == "supernetic" and len(t) > 1}
    return found & LEVEL.keys()


@pytest.mark.parametrize("path", files(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_point_down(path: Path) -> None:
    room = room_of(path)
    if room == "__init__":
        return
    assert room in LEVEL, f"{room} has no layer: add it to LAYERS"
    lazy = room not in ("catalog",)  # the catalogue resolves names on use
    upward = {r for r in imports_of(path, lazy=lazy) if r != room and LEVEL[r] >= LEVEL[room]}
    assert not upward, f"{path.name} (layer {LEVEL[room]}) imports {upward}"


def inner_imports(path: Path, room: str) -> set[str]:
    """Parts of its own room that a file imports, inside functions too."""
    here = ["supernetic", *path.relative_to(PACKAGE).with_suffix("").parts]
    parts: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            full = [*here[: -node.level], *(node.module.split(".") if node.module else [])]
            targets = [[*full, a.name] for a in node.names] if full == ["supernetic", room] else [full]
            parts |= {t[2] for t in targets if t[:2] == ["supernetic", room] and len(t) > 2}
    return parts


@pytest.mark.parametrize("room", INSIDE)
def test_imports_point_down_inside_a_room(room: str) -> None:
    level = {part: i for i, parts in enumerate(INSIDE[room]) for part in parts}
    for path in sorted((PACKAGE / room).rglob("*.py")):
        part = path.relative_to(PACKAGE / room).parts[0].removesuffix(".py")
        if part == "__init__":
            continue
        assert part in level, f"{room}/{part} has no layer: add it to INSIDE"
        upward = {p for p in inner_imports(path, room) if p != part and level[p] >= level[part]}
        assert not upward, f"{path.relative_to(PACKAGE)} imports {upward}"


@pytest.mark.parametrize("command", [["spaces"], ["cost", "attentive", "attentive-a0"], ["sample", "macro", "-n", "1"]])
def test_looking_imports_nothing_heavy(command: list[str]) -> None:
    code = (
        "import sys; from supernetic.cli import main\n"
        f"main({command!r})\n"
        "print([m for m in ('torch', 'scipy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ast.literal_eval(done.stdout.splitlines()[-1]) == []


def test_the_numpy_wing_imports_no_torch() -> None:
    for path in files():
        if room_of(path) not in TORCH_WING:
            assert not re.search(r"^(import|from) torch\b", path.read_text(), re.M), path


def test_public_names_are_real_and_documented() -> None:
    for path in files():  # a module must not take the place of a public name once it is imported
        assert path.relative_to(PACKAGE).parts[0].removesuffix(".py") not in supernetic.__all__
    for name in supernetic.__all__:
        public = getattr(supernetic, name)
        doc = public.__doc__ or ""
        assert doc.strip(), f"{name} has no docstring"
        assert not doc.startswith(f"{name}("), f"{name} has no docstring but what a dataclass makes up"
    with pytest.raises(AttributeError, match="nonsense"):
        supernetic.nonsense  # noqa: B018


@pytest.mark.parametrize(
    "path",
    [p for room in METHODS for p in sorted((PACKAGE / room).glob("*.py")) if p.stem not in NOT_METHODS],
    ids=lambda p: p.stem,
)
def test_every_method_names_its_paper(path: Path) -> None:
    doc = ast.get_docstring(ast.parse(path.read_text())) or ""
    assert re.search(r"^Paper: ", doc, re.M), f"{path.name} has no Paper line"


def test_no_branch_on_the_name_of_a_space() -> None:
    for path in files():
        assert not re.search(r"space\.name\s*(==|!=|in)\s", path.read_text()), path


def test_every_module_has_its_test() -> None:
    missing = []
    for path in files():
        relative = path.relative_to(PACKAGE)
        if relative.parts[0] in ("jobs", "runs"):  # a job is tested as a whole: its files may be cut anew
            continue
        if path.name != "__init__.py" and not (TESTS / relative.parent / f"test_{relative.name}").exists():
            missing.append(str(relative))
    assert not missing
