"""From values to a page: templates, their style and script, and the policy that allows nothing else.

Every text is escaped, by the template or by the module that makes SVG. The policy of a page forbids any request and any
script but its own.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..errors import RunError
from ..runs.directory import write_atomically

TEMPLATES = Path(__file__).parent / "templates"


def write_page(file: Path, html: str) -> None:
    """Put a page in place at once; what the file system refuses is a `RunError`."""
    try:
        write_atomically(file, html, sync=False)  # it can be written again
    except OSError as e:
        raise RunError(f"the report {file} cannot be written: {e.strerror or e}") from None


def fill(template: str, values: Mapping[str, Any]) -> str:
    """A template with the page's style and script, and a policy that allows no others."""
    style, script = (TEMPLATES / "style.css").read_text("utf-8"), (TEMPLATES / "script.js").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"
    return render(template, {**values, "style": style, "script": script, "policy": policy})


def render(template: str, values: Mapping[str, Any]) -> str:
    """A template alone: a whole page, or a part of one."""
    html: str = templates().get_template(template).render(**values)
    return html


@lru_cache(maxsize=1)
def templates() -> Any:
    """All templates, by their file names."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    loader = FileSystemLoader(TEMPLATES)
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def script_json(value: Any) -> str:
    """JSON that may stand inside a script element."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"), ensure_ascii=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def flat(table: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Settings as dotted names and texts."""
    if isinstance(table, Mapping):
        for key, value in table.items():
            yield from flat(value, f"{prefix}.{key}" if prefix else str(key))
    elif isinstance(table, list) and any(isinstance(v, Mapping) for v in table):
        for i, value in enumerate(table, 1):
            yield from flat(value, f"{prefix}.{i}")
    elif prefix:
        text = ", ".join(map(str, table)) if isinstance(table, list) else str(table)
        yield prefix, f"{table:,}" if isinstance(table, int) and not isinstance(table, bool) else text
