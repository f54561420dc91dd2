"""Write `papers.md` from the `Paper:` lines of the modules: `python docs/papers.py`."""

from __future__ import annotations

import ast
import re
from pathlib import Path

DOCS = Path(__file__).parent
PACKAGE = DOCS.parent / "src" / "supernetic"
HEADER = """# Methods and papers

Made by `docs/papers.py` from the first lines of the modules. Numbers expected and obtained are in `experiments/`.

| method | paper | file | test |
|---|---|---|---|
"""


def table() -> str:
    """The page."""
    rows = []
    for path in sorted(PACKAGE.rglob("*.py")):
        doc = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        found = re.search(r"^Papers?: (.*?)(?=\n\n|\n[A-Z]\w+:|\Z)", doc, re.M | re.S)
        if found and not found[1].startswith(("none", "ours")):
            file = path.relative_to(PACKAGE)
            test = file.with_name(f"test_{file.name}")
            paper = " ".join(found[1].split()).replace("|", "\\|")
            rows.append(f"| {doc.splitlines()[0]} | {paper} | `{file}` | `{test}` |\n")
    return HEADER + "".join(rows)


if __name__ == "__main__":
    (DOCS / "papers.md").write_text(table(), encoding="utf-8")
