from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from supernetic.blueprint import Blueprint
from supernetic.costs.macs import cost
from supernetic.costs.table import costs_of
from supernetic.errors import ArchError, InputError
from supernetic.space import Arch, Space
from supernetic.spaces.declared import DeclaredSpace, Head, declare, deep_narrow, read, shallow_wide
from supernetic.spaces.macro import Macro
from supernetic.testing import check_space


def blockwise(**changes: Any) -> DeclaredSpace:
    """Everything at once: resolutions, widths, depths, three operations, block by block."""
    settings: dict[str, Any] = {
        "name": "tiny",
        "resolution": [16, 24],
        "classes": 10,
        "per": "block",
        "stem": {"width": 8, "stride": 1},
        "stages": [
            {"width": [8, 12], "depth": [1, 3], "operation": ["mbconv", "skip"], "expansion": [1, 2.5]},
            {
                "width": 16,
                "depth": 2,
                "operation": ["conv", "mbconv"],
                "kernel": [3, 5],
                "se": [False, True],
                "stride": 2,
            },
        ],
        "head": {"width": [32, 40]},
    }
    return declare(**{**settings, **changes})


def stagewise() -> DeclaredSpace:
    return declare(
        name="even",
        resolution=20,
        stem={"width": [4, 6], "act": "swish"},
        stages=[{"width": 8, "depth": [1, 2], "kernel": [3, 5], "operation": ["mbconv", "skip"], "stride": 2}],
    )


EVERY = [deep_narrow(), shallow_wide(), blockwise(), stagewise()]


def encodings(space: Space) -> Iterator[Arch]:
    """By brute force: every tuple within the options that the space accepts."""
    for arch in itertools.product(*(range(len(c.options)) for c in space.choices)):
        try:
            yield space.check(arch)
        except ArchError:
            continue


def without_skips(blueprint: Blueprint) -> list[tuple[Any, ...]]:
    """What the network computes: its layers without their names and without skips that do nothing."""
    return [x[1:] for x in blueprint if x.kind != "skip" or x.stride > 1]


@pytest.mark.parametrize("space", EVERY, ids=lambda s: s.name)
def test_table_equals_blueprints(space: DeclaredSpace) -> None:
    archs = space.sample(np.random.default_rng(0), 1000)
    costs = [cost(space.blueprint(space.check(a))) for a in archs]
    for metric in ("macs", "params", "peak"):
        assert costs_of(space, archs, metric).tolist() == [getattr(c, metric) for c in costs]


@pytest.mark.parametrize("space", [blockwise(), stagewise()], ids=lambda s: s.name)
def test_size_by_enumeration(space: DeclaredSpace) -> None:
    archs = list(encodings(space))
    assert space.size == len(archs)
    texts = {space.format(a) for a in archs}
    assert len(texts) == len(archs)


def test_size_by_hand() -> None:
    # resolution x stage 1's width x (one block or three) x two blocks x head
    assert blockwise().size == 2 * 2 * (3 + 3**3) * (2 + 4) ** 2 * 2
    assert stagewise().size == 2 * 2 * 3


@pytest.mark.parametrize("space", EVERY, ids=lambda s: s.name)
def test_notation_is_read_back(space: DeclaredSpace) -> None:
    for row in space.sample(np.random.default_rng(1), 200, depth_uniform=True):
        arch = space.check(row)
        assert space.parse(space.format(arch)) == arch


def test_notation() -> None:
    text = "24px 8 | 12: MB2.5_K3 SKIP MB1_K3 | 16: CONV_K5 MB6_K3_SE | 40"
    space = blockwise()
    arch = space.parse(text)
    assert space.format(arch) == text
    assert [x.label for x in space.blueprint(arch) if x.stage] == ["MB2.5_K3", "SKIP", "MB1_K3", "CONV_K5", "MB6_K3_SE"]
    assert stagewise().format((1, 1, 2)) == "20px 6 | 8: SKIP x2"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("25px 8 | 12: SKIP | 16: CONV_K5 CONV_K5 | 40", "resolution must be one of 16, 24, got 25"),
        ("24px 8 | 12: SKIP SKIP | 16: CONV_K5 CONV_K5 | 40", "stage1.depth must be one of 1, 3, got 2"),
        ("24px 8 | 12: SKIP | 16: CONV_K7 CONV_K5 | 40", "stage2.0 must be one of CONV_K3, CONV_K5, "),
        ("24px 8 | 12: SKIP | 16: CONV_K5 CONV_K5", "10 integers"),
        ("24px 8 | SKIP | 16: CONV_K5 CONV_K5 | 40", "the paper's notation"),
    ],
)
def test_bad_notation(text: str, words: str) -> None:
    space = blockwise()
    with pytest.raises(ArchError) as error:
        space.parse(text)
    assert words.replace("10 integers", f"{len(space.choices)} integers") in str(error.value)


def test_the_network() -> None:
    space = blockwise()
    layers = space.blueprint(space.parse("24px 8 | 12: SKIP MB2.5_K3 MB2.5_K3 | 16: CONV_K5 MB6_K3_SE | 40")).layers
    assert [x.name for x in layers] == [
        "stem", "stage1.0", "stage1.1", "stage1.2", "stage2.0", "stage2.1", "head.conv", "head.pool", "classifier",
    ]  # fmt: skip
    assert [x.c_out for x in layers] == [8, 8, 12, 12, 16, 16, 40, 40, 10]
    # The skipped block leaves 8 channels, but the hidden width is that of 12.
    assert [x.hidden for x in layers][2:4] == [30, 30]
    assert [x.shortcut for x in layers][2:6] == ["", "identity", "", "identity"]
    assert [x.resolution_out for x in layers] == [24, 24, 24, 24, 12, 12, 12, 1, 1]
    assert layers[5].se == 96 // 4
    assert {x.act for x in layers if x.kind in ("conv", "mbconv")} == {"relu"}


def test_a_space_that_we_know() -> None:
    """NAS-Bench-Macro without its identities, declared: the same network at the same cost."""
    stage = {"operation": "mbconv", "stride": 2, "expansion": [3, 6], "kernel": [3, 5]}
    space = declare(
        name="macro-like",
        resolution=32,
        classes=10,
        per="block",
        stem={"width": 32, "stride": 1},
        stages=[
            {**stage, "width": 64, "depth": 2},
            {**stage, "width": 128, "depth": 3},
            {**stage, "width": 256, "depth": 3},
        ],
        head={"width": 1280},
    )
    rng = np.random.default_rng(3)
    for row in rng.integers(1, 3, size=(20, 8)):
        known = cost(Macro().blueprint(tuple(int(g) for g in row)))
        ours = cost(space.blueprint(tuple(0 if g == 1 else 3 for g in row)))
        assert ours == known


def test_canonical() -> None:
    space = blockwise()
    classes: dict[Arch, list[Arch]] = {}
    for row in space.sample(np.random.default_rng(4), 500):
        arch = space.check(row)
        first = space.check(space.canonical(arch))
        assert space.canonical(first) == first
        assert without_skips(space.blueprint(first)) == without_skips(space.blueprint(arch))
        classes.setdefault(first, []).append(arch)
    assert max(len(v) for v in classes.values()) > 1
    a, b = (space.parse(f"16px 8 | 8: MB1_K3 {rest}| 16: CONV_K3 CONV_K3 | 32") for rest in ("SKIP SKIP ", ""))
    assert space.canonical(a) == b
    assert stagewise().canonical((0, 1, 2)) == (0, 0, 2)
    assert stagewise().canonical((0, 1, 1)) == (0, 1, 1)


def test_equal_declarations_are_equal_spaces() -> None:
    assert blockwise() == blockwise()
    assert hash(blockwise()) == hash(blockwise())
    assert blockwise().fingerprint == blockwise().fingerprint != blockwise(classes=11).fingerprint
    assert blockwise(sharing="elastic").sharing == "elastic"


def test_a_stage_may_differ_from_the_rest() -> None:
    space = declare(
        name="mixed",
        per="block",
        stem={"width": 8},
        stages=[{"width": 8, "depth": 2, "kernel": [3, 5], "per": "stage"}, {"width": 8, "depth": 2, "kernel": [3, 5]}],
    )
    assert [c.name for c in space.choices] == ["stage1.block", "stage2.0", "stage2.1"]
    assert space.format((1, 0, 1)) == "224px 8 | 8: MB6_K5 x2 | 8: MB6_K3 MB6_K5"


def test_the_two_that_come_with_it() -> None:
    """One is deeper and narrower, at comparable cost."""
    deep, wide = deep_narrow(), shallow_wide()
    ends = {}
    for space in (deep, wide):
        archs = np.array([[0] * len(space.choices), [len(c.options) - 1 for c in space.choices]], dtype=np.int8)
        blocks = [sum(x.kind == "mbconv" for x in space.blueprint(space.check(a))) for a in archs]
        ends[space.name] = (costs_of(space, archs), blocks, space)
    (deep_macs, deep_blocks, _), (wide_macs, wide_blocks, _) = ends.values()
    assert deep_macs / wide_macs == pytest.approx([1, 1], abs=0.12)
    assert all(d > 1.5 * w for d, w in zip(deep_blocks, wide_blocks, strict=True))
    for a, b in zip(deep.stages, wide.stages, strict=True):  # type: ignore[attr-defined]
        assert sum(a.width) / len(a.width) <= sum(b.width) / len(b.width)
    assert (deep.name, deep.paper, wide.name) == ("deep-narrow", "AttentiveNAS", "shallow-wide")


# --- files ------------------------------------------------------------------------------------------------------------

GOOD = """
classes = 10
[stem]
width = [8, 16]
[[stages]]
width = 16
kernel = [3, 5]
"""


def test_read_toml(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(GOOD)
    space = read(file)
    assert space.name == "mine"
    assert space.size == 4
    assert space.blueprint((1, 1)).classes == 10


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("kernel =", "kernels =", "stages[1]: unknown key 'kernels': did you mean 'kernel'?"),
        ("classes", "clases", "unknown key 'clases': did you mean 'classes'?"),
        ("[stem]\nwidth", "[stem]\nwidht", "did you mean 'width'?"),
        ("width = [8, 16]", "", "stem.width is missing"),
        ("width = 16", 'width = "16"', "stages[1].width must be a valid integer, got '16'"),
        ("width = 16", "width = [16, true]", "stages[1].width must be a valid integer, got True"),
        ("width = 16", "width = 0", "stages[1]: width must be positive, got 0"),
        ("width = 16", "width = []", "stages[1]: width must list 1..127 different options, got []"),
        ("[8, 16]", "[8, 8]", "stem: width must list 1..127 different options, got [8, 8]"),
        ("[3, 5]", "[3, 4]", "stages[1]: kernel must be odd and positive, got 4"),
        ("kernel", 'stride = 3\nkernel', "stages[1]: stride must be 1, 2 or 4, got 3"),
        ("kernel", 'operation = "mbcov"\nkernel', "operation must be 'mbconv', 'conv' or 'skip', got 'mbcov'"),
        ("kernel", 'per = "layer"\nkernel', "stages[1].per must be '', 'stage' or 'block', got 'layer'"),
        ("kernel", "expansion = 0.5\nkernel", "stages[1]: expansion must be 1 to 64, got 0.5"),
        ("classes = 10", "classes = 0", "classes must be 1 to 65,536, got 0"),
        ("classes = 10", "resolution = [32, 0]", "resolution must be positive, got 0"),
        ("classes = 10", "classes = 1979-05-27", "classes must be a valid integer, got '1979-05-27'"),
        ("classes = 10", "classes = ", "not readable as TOML: "),
        ("[[stages]]\nwidth = 16\nkernel = [3, 5]", "", "stages is missing"),
        ("[[stages]]\nwidth = 16\nkernel = [3, 5]", "[[stages.oops]]", "stages[1]: unknown key 'oops'"),
    ],
)  # fmt: skip
def test_bad_toml_is_named(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert old in GOOD
    file = tmp_path / "mine.toml"
    file.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(InputError) as error:
        read(file)
    assert str(error.value).startswith(f"{file}: ")
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_read_python(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "from supernetic.spaces.declared import declare\n"
        "stage = dict(depth=[1, 2], kernel=[3, 5], per='block')\n"
        "space = declare(name='mine', stem=dict(width=8), stages=[dict(stage, width=c) for c in (8, 16)])\n"
    )
    assert read(file).size == (2 + 4) ** 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("spcae = 1", "must assign a space to the name `space`"),
        ("space = 1", "got 1"),
        ("a = 1\nb = a / 0", "line 2: ZeroDivisionError"),
        ("a = 1\nb = (", "line 2: SyntaxError"),
        ("raise SystemExit(3)", "line 1: SystemExit: 3"),
        ("from supernetic.spaces.declared import declare\nspace = declare(nme=1)", "unknown key 'nme'"),
    ],
)
def test_bad_python_is_named(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(text)
    with pytest.raises(InputError) as error:
        read(file)
    assert str(error.value).startswith(f"{file}: ")
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        read(tmp_path / "none.toml")


def test_the_page_shows_what_happens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "declared-spaces.md").read_text(encoding="utf-8")
    toml, script, output, module = re.findall(r"^```\w*\n(.*?)^```$", page, re.S | re.M)
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text(toml)
    exec(compile(script, "page", "exec"), {})
    assert capsys.readouterr().out == output
    Path("mine.py").write_text(module)
    assert read(Path("mine.py")).size == 12**3


def test_stabilised_skips_have_the_width_of_their_stage() -> None:
    stages = [{"width": 12, "depth": 2, "operation": ["mbconv", "skip"], "per": "block", "stride": 2}]
    plain = declare(name="plain", resolution=16, stem={"width": 8}, stages=stages)
    stabilised = replace(plain, stabiliser="skip")
    arch = (1, 0)
    assert [x.kind for x in plain.blueprint(arch) if x.stage] == ["skip", "mbconv"]
    first, second = (x for x in stabilised.blueprint(arch) if x.stage)
    assert (first.kind, first.c_in, first.c_out, first.stride, first.norm, first.act) == ("conv", 8, 12, 2, False, "")
    assert second.shortcut == "identity"
    check_space(stabilised, n=50)


def test_all_channels_can_be_made_narrower() -> None:
    whole = declare(
        name="wide",
        resolution=32,
        stem={"width": [16, 32]},
        stages=[{"width": [32, 64], "se": True}],
        head={"width": 128},
    )
    narrow = replace(whole, width=0.25)
    arch = (1, 1)
    assert narrow.format(arch) == whole.format(arch)
    wide = [(x.c_out, x.hidden, x.se) for x in whole.blueprint(arch)]
    assert wide[:3] == [(32, 0, 0), (64, 192, 48), (128, 0, 0)]
    assert [(x.c_out, x.hidden, x.se) for x in narrow.blueprint(arch)][:3] == [(8, 0, 0), (16, 48, 12), (32, 0, 0)]
    assert list(narrow.blueprint(arch))[-1].c_out == list(whole.blueprint(arch))[-1].c_out == 1000
    check_space(narrow, n=20)
    for factor in (0, -1.0, 101, float("nan")):
        with pytest.raises(ValueError, match="width must be above 0 and at most 100"):
            replace(whole, width=factor)
    with pytest.raises(ValueError, match="channels times width must be at most 65,536, got 8,000 times 10"):
        replace(whole, head=Head((8000,)), width=10)


def test_the_whole_width_leaves_a_fingerprint_as_it_was() -> None:
    space = declare(name="mine", resolution=32, stem={"width": 16}, stages=[{"width": [32, 64]}])
    assert "width=1" not in repr(space)
    prints = {space.fingerprint, replace(space, width=0.5).fingerprint, replace(space, width=0.25).fingerprint}
    assert len(prints) == 3
    assert replace(space, width=1.0).fingerprint == space.fingerprint
