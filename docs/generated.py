"""What the pages show and no hand writes: commands, public names, keys of TOML files, the table of outcomes.

A page has a comment such as `<!-- generated: commands -->` where one of these belongs; the site has the text there.
The table of outcomes is in the pages themselves, between two such comments: `python docs/generated.py` writes it anew.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import io
import re
import tokenize
import tomllib
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
MARK = re.compile(r"<!-- generated: ([\w-]+) -->")
OUTCOMES = re.compile(r"(<!-- generated: outcome -->\n).*?(<!-- end of outcome -->)", re.S)
PYTHON_ONLY = ("evaluator", "predictor")  # objects, which no file can hold
RIVALS = {"plain": "plain stack", "resnet": "ResNet", "mobilenetv2": "MobileNetV2"}  # others by their own names


def fill(text: str) -> str:
    """The page with everything that is generated in place of its marks."""
    text = OUTCOMES.sub(r"\1", text)
    return MARK.sub(lambda found: PARTS[found[1]](), text)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


# --- outcomes ---------------------------------------------------------------------------------------------------------


def outcome() -> str:
    """Search against its rivals, from the record of `benchmarks/outcome.py`."""
    record = tomllib.loads((ROOT / "experiments/outcome.toml").read_text(encoding="utf-8"))
    entries = [e for e in record["obtained"]["entries"] if "test_accuracy" in e]
    settings = dict(part.split(": ", 1) for part in record["scale"].split("; ") if ": " in part)
    rivals = list(dict.fromkeys(e["entry"] for e in entries if e["entry"] != "search"))
    rows = []
    for name in dict.fromkeys(e["row"] for e in entries):
        of_row = [e for e in entries if e["row"] == name]
        cells = [_accuracy([e for e in of_row if e["entry"] == entry]) for entry in ("search", *rivals)]
        verdict = record["obtained"]["verdicts"].get(name)
        last = f"{verdict['difference']:+.2f} ({_rival(verdict['rival'])})" if verdict else "-"
        seeds = len({e["seed"] for e in of_row if e["entry"] == "search"})
        rows.append([settings.get(name, name), str(seeds), *cells, last])
    header = ["data, limit, time", "seeds", "search", *map(_rival, rivals), "search minus best rival"]
    return table(header, rows)


def _rival(name: str) -> str:
    return RIVALS.get(name, name)


def _accuracy(entries: Sequence[Mapping[str, Any]]) -> str:
    if not entries:
        return "not run"
    half = mean((e["interval"][1] - e["interval"][0]) / 2 for e in entries)
    return f"{mean(e['test_accuracy'] for e in entries):.2f} ± {half:.2f}"


# --- commands ---------------------------------------------------------------------------------------------------------


def commands() -> str:
    """Every command with its arguments and options, as its help has them."""
    from typer.main import get_command

    from supernetic.cli import app
    from supernetic.cli.shared import GROUPS

    root: Any = get_command(app)
    titles = {**GROUPS, "Other commands": tuple(n for n in root.commands if not any(n in g for g in GROUPS.values()))}
    parts = []
    for title, names in titles.items():
        if names:
            parts.append(f"## {title}\n")
            parts += [part for name in names for part in _command(root.commands[name], f"supernetic {name}")]
    return "\n".join(parts)


def _command(command: Any, name: str) -> Iterator[str]:
    with command.make_context(name, [], resilient_parsing=True) as context:
        yield f"### {name}\n\n{_sentence(command.help)}\n\n`{command.get_usage(context).removeprefix('Usage: ')}`\n"
        inner = getattr(command, "commands", {})
        records = {str(p.name): (p, r) for p in command.get_params(context) if (r := p.get_help_record(context))}
    arguments = [r for p, r in records.values() if p.param_type_name == "argument"]
    options = {n: r for n, (p, r) in records.items() if p.param_type_name == "option" and n != "help"}
    if arguments:
        yield table(["argument", ""], [_row(r) for r in arguments])
    if inner:
        for other in inner.values():
            yield from (part.replace("### ", "#### ", 1) for part in _command(other, f"{name} {other.name}"))
        return
    for title, names in command.groups(options):
        rows = [_row(options[n]) for n in names]
        if rows:
            yield table([title.lower(), ""], rows)


def _row(record: tuple[str, str]) -> list[str]:
    return [f"`{record[0]}`", _sentence(record[1])]


def _sentence(text: str | None) -> str:
    """A help text as Markdown: signs that Markdown or HTML would read are kept as they are."""
    parts = " ".join((text or "").split()).split("`")
    plain = [re.sub(r"([>*_\[\]])", r"\\\1", part).replace("<", "&lt;") for part in parts]
    return "`".join(part if i % 2 else plain[i] for i, part in enumerate(parts))


# --- public names -----------------------------------------------------------------------------------------------------


def public_names() -> dict[str, list[str]]:
    """Public names by the group that docs/python.md has them in."""
    text = (DOCS / "python.md").read_text(encoding="utf-8")
    groups: dict[str, list[str]] = {}
    for section in text[text.index("## Public names") :].split("\n### ")[1:]:
        title, _, body = section.partition("\n")
        rows = re.findall(r"^\| (`.*?) \|", body, re.M)
        groups[title] = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    return groups


def api() -> str:
    """Every public name, for mkdocstrings."""
    missing = undocumented()
    if missing:
        raise ValueError("public names without a docstring: " + ", ".join(missing))
    parts = []
    for title, names in public_names().items():
        parts.append(f"## {title}\n")
        parts += [f"::: supernetic.{name}\n" for name in names]
    return "\n".join(parts)


def undocumented() -> list[str]:
    """Public names, and public methods of public classes, that have no docstring."""
    import supernetic

    missing = []
    for name in supernetic.__all__:
        thing = getattr(supernetic, name)
        if typing.get_origin(thing) is not None:  # a type by another name, such as Arch
            continue
        if not inspect.getdoc(thing):
            missing.append(name)
        if inspect.isclass(thing):
            for member, value in vars(thing).items():
                described = isinstance(value, property | staticmethod | classmethod) or inspect.isfunction(value)
                if described and not member.startswith("_") and not inspect.getdoc(getattr(thing, member)):
                    missing.append(f"{name}.{member}")
    return missing


# --- keys of TOML files -----------------------------------------------------------------------------------------------


def requests() -> str:
    """Keys of a file for `search` and for `scale`."""
    from supernetic import scale, search, search_table
    from supernetic.jobs.scale.request import ScaleRequest
    from supernetic.jobs.search.request import SearchRequest
    from supernetic.jobs.search.table_search import TableSearchRequest

    kinds: dict[str, tuple[type, Callable[..., Any]]] = {
        "`search FILE.toml`": (SearchRequest, search),
        "`search FILE.toml` with a table": (TableSearchRequest, search_table),
        "`scale FILE.toml`": (ScaleRequest, scale),
    }
    return "\n".join(f"### {title}\n\n{_schema(*kind)}" for title, kind in kinds.items())


def recipes() -> str:
    """Keys of a recipe."""
    from supernetic.training.recipe import Recipe

    return _schemas({"A recipe": Recipe})


def samplers() -> str:
    """Settings of samplers."""
    from supernetic.samplers.named import SAMPLERS

    return _schemas({f"`{name}`": kind for name, kind in SAMPLERS.items()})


def spaces() -> str:
    """Keys of a declared space, with the types that pydantic checks."""
    from supernetic.spaces.declared import PARTS as PARTS_OF_SPACES
    from supernetic.spaces.declared import DeclaredSpace

    return _schemas({"The file": DeclaredSpace, **{f"`[{k}]`": v for k, v in PARTS_OF_SPACES.items()}})


def studies() -> str:
    """Keys of a study's file."""
    from supernetic.lab.study_file import FIGURE_KEYS, STUDY_KEYS, TRAINING_TYPES, TYPE_NAMES

    types = [[f"`{k}`", " or ".join(TYPE_NAMES[t] for t in ts)] for k, ts in TRAINING_TYPES.items()]
    listed = "Keys of the file: {}. Keys of one of `[[figures]]`: {}.\n".format(
        *(", ".join(f"`{key}`" for key in keys) for keys in (STUDY_KEYS, FIGURE_KEYS))
    )
    return f"{listed}\nArguments of a training, in `[base]` and in the options of `[grid]`:\n\n" + table(
        ["argument", "type"], types
    )


def _schemas(kinds: Mapping[str, type]) -> str:
    return "\n".join(f"### {title}\n\n{_schema(kind)}" for title, kind in kinds.items())


def _schema(kind: type, function: Callable[..., Any] | None = None) -> str:
    """A table of a dataclass's fields: types as pydantic reads them, defaults, and what is said about each.

    Args:
        kind: The dataclass.
        function: One with arguments of the same names, whose docstring explains them.

    Returns:
        The table.
    """
    notes = _arguments((function.__doc__ if function else None) or "")
    for base in reversed(kind.__mro__):
        if dataclasses.is_dataclass(base):
            notes |= _arguments(base.__doc__ or "") | _comments(base)
    hints = typing.get_type_hints(kind)
    rows = []
    for field in dataclasses.fields(kind):
        if field.name in PYTHON_ONLY:
            continue
        default = "required" if field.default is dataclasses.MISSING else f"`{_value(field.default)}`"
        if field.default_factory is not dataclasses.MISSING:
            default = f"`{_value(field.default_factory())}`"
        rows.append([f"`{field.name}`", _type(hints[field.name]), default, _sentence(notes.get(field.name, ""))])
    if not rows:
        return "No settings.\n"
    return table(["key", "type", "default", ""], rows)


def _value(default: object) -> str:
    if default is None or default == ():
        return "none" if default is None else "[]"
    if isinstance(default, bool):
        return str(default).lower()
    if dataclasses.is_dataclass(default):
        return type(default).__name__.lower()
    return str(list(default)) if isinstance(default, tuple) else repr(default).replace("'", '"')


def _type(hint: Any) -> str:
    """The type as JSON schema has it; parts that only Python can give are left out."""
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

    plain = [t for t in (typing.get_args(hint) if _is_union(hint) else (hint,)) if t is not type(None)]
    texts = []
    for option in plain:
        if option is Path:  # a text in a file
            continue
        try:
            texts.append(_described(TypeAdapter(option).json_schema()))
        except (PydanticSchemaGenerationError, PydanticUserError):
            texts.append("table with a `name`" if getattr(option, "__name__", "") == "Sampler" else "")
    return " or ".join(dict.fromkeys(t for t in texts if t)) or "text"


def _is_union(hint: Any) -> bool:
    return typing.get_origin(hint) in (typing.Union, type(int | str))


def _described(schema: Mapping[str, Any]) -> str:
    names = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}
    if "enum" in schema or "const" in schema:
        return ", ".join(f'`"{v}"`' for v in schema.get("enum", [schema.get("const")]))
    if "anyOf" in schema:
        kinds = [_described(option) for option in schema["anyOf"]]
        return "text" if "text" in kinds else " or ".join(dict.fromkeys(filter(None, kinds)))  # objects: Python only
    if "$ref" in schema or schema.get("type") == "object":
        return "table"
    if schema.get("type") == "array":
        inner = schema.get("items") or {}
        return f"list of {_described(inner)}" if inner else "list"
    return names.get(schema.get("type", ""), "")


def _arguments(doc: str) -> dict[str, str]:
    """What the docstring says about each argument."""
    found = re.search(r"^ *Args:\n(.*?)(?=\n\s*\n|\Z)", doc, re.M | re.S)
    rows = re.findall(r"^ {8}(\w+): (.*?)(?=\n {8}\w+: |\Z)", found[1], re.M | re.S) if found else []
    return {name: " ".join(text.split()) for name, text in rows}


def _comments(kind: type) -> dict[str, str]:
    """Comments behind the fields of a class."""
    try:
        source = inspect.getsource(kind)
    except (OSError, TypeError):
        return {}
    lines = {t.start[0]: t.string.lstrip("# ") for t in tokenize.generate_tokens(io.StringIO(source).readline)
             if t.type == tokenize.COMMENT and not t.string.startswith("# type:")}  # fmt: skip
    body = typing.cast(ast.ClassDef, ast.parse(source).body[0]).body
    fields = [n for n in body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)]
    found = {}
    for node in fields:
        words = [lines[i] for i in range(node.lineno, (node.end_lineno or node.lineno) + 1) if i in lines]
        found[typing.cast(ast.Name, node.target).id] = " ".join(words)
    return {name: text for name, text in found.items() if text}


PARTS: dict[str, Callable[[], str]] = {
    "outcome": outcome,
    "commands": commands,
    "api": api,
    "requests": requests,
    "recipes": recipes,
    "samplers": samplers,
    "spaces": spaces,
    "studies": studies,
}


def with_outcomes(text: str) -> str:
    """A page with the table of outcomes that the record gives."""
    return OUTCOMES.sub(lambda found: found[1] + outcome() + found[2], text)


if __name__ == "__main__":
    for file in (ROOT / "README.md", DOCS / "start/README.md"):
        file.write_text(with_outcomes(file.read_text(encoding="utf-8")), encoding="utf-8")
