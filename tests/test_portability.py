"""Nothing in the package asks for a module that only Unix has.

Processes and signals are not tried here: this is about `import` alone.
"""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import supernetic

PACKAGE = Path(supernetic.__file__).parent
UNIX_ONLY = {
    "crypt", "curses", "fcntl", "grp", "nis", "ossaudiodev", "posix", "pty", "pwd", "readline", "resource", "spwd",
    "syslog", "termios", "tty",
}  # fmt: skip
IMPORT_ALL = """
import sys
from importlib import import_module
for name in {missing}:
    sys.modules[name] = None  # an import of it fails
for name in {names}:
    import_module(name)
"""


def module_of(path: Path) -> str:
    """A file's name in an `import`."""
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def imported(path: Path) -> set[str]:
    """Top-level names of all that a file imports, inside functions too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found


def test_no_file_imports_a_module_of_unix() -> None:
    found = {str(p.relative_to(PACKAGE)): imported(p) & UNIX_ONLY for p in PACKAGE.rglob("*.py")}
    assert {file: names for file, names in found.items() if names} == {}


@pytest.mark.slow
def test_every_module_is_imported_without_them() -> None:
    """Dependencies do without them as well; filelock warns, because a Linux without `fcntl` is odd."""
    missing = sorted(UNIX_ONLY - {"posix"})  # `os` itself is made of that one
    names = sorted(module_of(path) for path in PACKAGE.rglob("*.py") if path.name != "__main__.py")
    code = IMPORT_ALL.format(missing=missing, names=names)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
