"""The way of a search in docs/design.md is the one that the code takes."""

import ast
import re
from pathlib import Path

import supernetic

PACKAGE = Path(supernetic.__file__).parent
PAGE = Path(__file__).parents[1] / "docs" / "design.md"
MAX_FUNCTIONS = 39


def walk() -> list[tuple[str, str]]:
    """File and function of each line."""
    block = re.search(r"## The way of a search.*?```\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    assert block
    lines = [line.strip().rpartition(":") for line in block[1].splitlines()]
    return [(file, function) for file, _, function in lines]


def functions_of(file: str) -> dict[str, ast.AST]:
    found: dict[str, ast.AST] = {}
    for node in ast.parse((PACKAGE / file).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = node
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{f.name}": f for f in node.body if isinstance(f, ast.FunctionDef)}
    return found


def test_every_function_is_there_once_and_there_are_few() -> None:
    steps = walk()
    assert len(steps) == len(set(steps)) <= MAX_FUNCTIONS
    for file, function in steps:
        assert function in functions_of(file), f"{file} has no {function}"


def test_callers_name_what_they_call() -> None:
    """Each line of the walk is called in the file of a line above it."""
    called: set[str] = set()
    for file, function in walk():
        name = function.rpartition(".")[2]
        if called:
            assert name in called, f"nobody above calls {function}"
        for node in ast.walk(ast.parse((PACKAGE / file).read_text(encoding="utf-8"))):
            if isinstance(node, ast.Name):
                called.add(node.id)
            elif isinstance(node, ast.Attribute):
                called.add(node.attr)
            elif isinstance(node, ast.alias):
                called.add(node.name)
