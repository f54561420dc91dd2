"""The wheel holds every file of the package, and works where the repository is not."""

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path
from shutil import copy, copytree, ignore_patterns

import pytest

ROOT = Path(__file__).parents[1]
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
OFFLINE = ["--no-deps", "--no-index"]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a wheel is built from; a copy, because building leaves files behind."""
    path = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        copy(ROOT / name, path)
    copytree(ROOT / "src/supernetic", path / "src/supernetic", ignore=ignore_patterns("__pycache__"))
    return path


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    subprocess.run([*PIP, "wheel", str(source), *OFFLINE, "--no-build-isolation", "-w", str(out)], check=True, cwd=out)
    (found,) = out.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("installed")
    subprocess.run([*PIP, "install", str(wheel), *OFFLINE, "--target", str(target)], check=True, cwd=target)
    return target


def run(installed: Path, folder: Path, *arguments: str) -> str:
    """What Python prints with the wheel and its dependencies, and no way to the repository.

    Without `site` (-S), the path file of an editable install is not read.
    """
    places = [str(installed), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    done = subprocess.run(
        [sys.executable, "-S", "-P", *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(places), "SUPERNETIC_CACHE": str(folder / "cache")},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_file_is_in_it(source: Path, wheel: Path) -> None:
    package = source / "src"
    with zipfile.ZipFile(wheel) as file:
        held = {name for name in file.namelist() if ".dist-info/" not in name}
    assert held == {p.relative_to(package).as_posix() for p in package.glob("supernetic/**/*") if p.is_file()}
    assert "supernetic/py.typed" in held


def test_it_is_the_wheel_that_is_tested(installed: Path, tmp_path: Path) -> None:
    code = (
        "import sys, supernetic\n"
        "from importlib.metadata import distribution\n"
        "print(supernetic.__file__)\n"
        "print(*(e.value for e in distribution('supernetic').entry_points if e.name == 'supernetic'))\n"
        "print(*sys.path, sep='\\n')"
    )
    file, entry, *path = run(installed, tmp_path, "-c", code).splitlines()
    assert Path(file).is_relative_to(installed)
    assert entry == "supernetic.cli:main"
    assert str(ROOT / "src") not in path


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["spaces"], "deep-narrow"),  # declared in a bundled file
        (["cost", "attentive", "attentive-a0"], "203,389,568 MACs"),
        (["rank", "--score", "macs", "--truth", "c10_test_200"], "on nasbench201, 15,625 encodings"),
        (["rank", "--space", "macro", "--score", "macs", "--truth", "mean_acc"], "on macro"),
        (["data", "check", "embedded"], "10,000 images of 28x28, gray, 10 classes"),
    ],
    ids=lambda value: "-".join(value[:3]) if isinstance(value, list) else "",
)
def test_commands_find_their_files(installed: Path, tmp_path: Path, command: list[str], said: str) -> None:
    assert said in run(installed, tmp_path, "-m", "supernetic.cli", *command)


def test_templates_are_found(source: Path, installed: Path, tmp_path: Path) -> None:
    names = sorted(p.name for p in (source / "src/supernetic/reports/templates").glob("*.j2"))
    code = (
        f"from supernetic.reports.rendering import templates as t; print(*(t().get_template(n).name for n in {names}))"
    )
    assert run(installed, tmp_path, "-c", code).split() == names
