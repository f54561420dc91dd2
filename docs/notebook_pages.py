"""Notebooks as pages: Markdown cells as they are, code cells as Python blocks, outputs as text or pictures.

python docs/notebook_pages.py [NAME ...]    runs the notebooks and keeps what they print
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any

NOTEBOOKS = Path(__file__).parent / "notebooks"
TERMINAL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def markdown(file: Path) -> str:
    """The page of a notebook."""
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
    return "\n\n".join(part for cell in cells for part in _cell(cell, file))


def _cell(cell: Mapping[str, Any], file: Path) -> Iterator[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield source
        if source.startswith("# "):
            link = f'<a href="{file.name}" download>Download</a>'
            yield f'<p class="notebook">A notebook, run by the tests. {link} it.</p>'
    elif cell["cell_type"] == "code":
        # Tests run the notebook as a whole, so its cells are no blocks of a page.
        yield f"``` {{ .python }}\n{source}\n```"
        for output in cell["outputs"]:
            yield from _output(output)


def _output(output: Mapping[str, Any]) -> Iterator[str]:
    data = output.get("data", {})
    if output["output_type"] == "stream" and output["name"] == "stdout":
        yield _text("".join(output["text"]))
    elif "image/png" in data:
        yield f'<img alt="what the cell above draws" src="data:image/png;base64,{"".join(data["image/png"]).strip()}">'
    elif "text/html" in data:
        yield "<div>" + re.sub(r"\n\s*", "", "".join(data["text/html"])) + "</div>"
    elif "text/plain" in data:
        yield _text("".join(data["text/plain"]))


def _text(text: str) -> str:
    return f'<pre class="output">{escape(TERMINAL.sub("", text).rstrip())}</pre>'.replace("\n", "&#10;")


def run(file: Path, directory: Path) -> Any:
    """The notebook after all of its cells have run in a directory; an error of a cell is raised."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(file, as_version=4)  # type: ignore[no-untyped-call]
    client = NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(directory)}})
    return client.execute()


def _main(names: list[str]) -> None:
    import nbformat

    os.environ.setdefault("OMP_NUM_THREADS", "1")
    for file in sorted(NOTEBOOKS.glob("*.ipynb")):
        if not names or file.stem in names:
            with tempfile.TemporaryDirectory() as directory:
                done = run(file, Path(directory))
            for cell in done.cells:
                cell.get("metadata", {}).clear()  # times of execution
            nbformat.write(done, file)  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    _main(sys.argv[1:])
