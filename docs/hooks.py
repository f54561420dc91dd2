"""What mkdocs does with our pages beyond Markdown: generated parts, visible marks, notebooks, pages of the root.

The pages in docs/ read well on a forge too: there README.md is the index of its folder, and contributing is a file of
the root. The site's first page is docs/start/README.md; the index is its table of contents.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import blocks
import generated
import notebook_pages
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
ROOT_PAGES = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md", "SECURITY.md": "security.md"}
HOME, CONTENTS = "start/README.md", "README.md"
PLACES = {HOME: "index.html", CONTENTS: "contents.html"}
LINK = re.compile(r"(?<=\]\()([^)#\s]+)(?=[)#])")
OUTSIDE = re.compile(r"\[([^\]]+)\]\(((?:\.\./)+[^)#\s]+)\)")  # a link that climbs, perhaps out of docs/


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are not in docs/, and put the first page where a browser looks for it."""
    for name, uri in ROOT_PAGES.items():
        if (ROOT / name).exists():
            files.append(File.generated(config, uri, content=(ROOT / name).read_text(encoding="utf-8")))
    for notebook in sorted((ROOT / "docs/notebooks").glob("*.ipynb")):
        page = notebook_pages.markdown(notebook)
        files.append(File.generated(config, f"notebooks/{notebook.stem}.md", content=page))
    for uri, place in PLACES.items():
        file = files.get_file_from_path(uri)
        if file is None:
            raise PluginError(f"docs/{uri} is missing")
        file.dest_uri = place
    return files


def on_page_markdown(markdown: str, page: Page, config: Any, files: Files) -> str:
    """Fill in what is generated, mark what was not run, and lead links to files of the root to their pages."""
    uri = page.file.src_uri
    faults = blocks.unmarked(markdown)
    if faults:
        raise PluginError(f"{uri}: a block is neither run nor marked as not run: {faults[0].code.splitlines()[0]!r}")
    markdown = blocks.with_visible_marks(markdown)
    markdown = LINK.sub(lambda found: _on_site(found[1], uri), markdown)
    markdown = OUTSIDE.sub(lambda found: _without_link(found, uri), markdown)
    return generated.fill(markdown)


def _without_link(found: re.Match[str], uri: str) -> str:
    """A link to a file of the repository that is not on the site, such as a record, becomes its name."""
    target = (ROOT / "docs" / uri).parent.joinpath(found[2]).resolve()
    if target.is_relative_to(ROOT / "docs") or not target.exists():  # mkdocs checks these
        return found[0]
    return f"{found[1]} (`{target.relative_to(ROOT)}`)"


def _on_site(target: str, uri: str) -> str:
    """Where a link of a page leads on the site."""
    up = "../" * uri.count("/")
    if uri in ROOT_PAGES.values():  # written for the root
        if target == "README.md":
            return HOME
        return ROOT_PAGES.get(target, target.removeprefix("docs/"))
    if target == f"{up}../README.md":
        return up + HOME
    for name, place in ROOT_PAGES.items():
        if target == f"{up}../{name}":
            return up + place
    return re.sub(r"^([^:]*notebooks/|(?<!/))([\w-]+)\.ipynb$", r"\1\2.md", target)
