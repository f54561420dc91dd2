"""The table of bad inputs. A row is a command line, what it is given, and what has to come of it."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
from harness import ANSWERED, REFUSED, Case
from keepsakes import ALONE, SMALL, SPACE, TINY, images, take
from PIL import Image

LONG = "x" * 300  # more than a file's name can have
SURROGATE = os.fsdecode(b"caf\xe9")  # Latin-1, not UTF-8
Q = "-q"


def every_case(kept: Path) -> list[Case]:
    """All cases; `kept` is the folder of finished runs."""
    found = [
        *numbers(),
        *limits(),
        *names(),
        *settings(),
        *tables_of_toml(),
        *paths(),
        *special_files(kept),
        *data_sets(),
        *wrong_runs(kept),
        *damaged_runs(kept),
        *damaged_models(kept),
    ]
    titles = [c.title for c in found]
    twice = {t for t in titles if titles.count(t) > 1}
    assert not twice, f"cases must be distinct: {sorted(twice)[:3]}"
    return found


# --- numbers ----------------------------------------------------------------------------------------------------------

WHOLE = ("nan", "inf", "1e400", "1.5", "²", "٣", "1_000", "", "0x10", "many")  # are no whole numbers
REAL = ("nan", "inf", "-inf", "1e400", "²", "٣", "1_0", "", "many")  # are no finite numbers
HUGE = "99999999999999999999"
OPTIONS = {  # by command: its shortest valid form; options that are whole numbers; options that are real ones
    "search": (
        ("search", *SMALL, *ALONE, Q),
        ("--keep", "--population", "--generations", "--evaluations", "--steps", "--network-steps", "--limit",
         "--image-size", "--threads", "--workers", "--seed"),
        ("--minutes", "--valid"),
    ),
    "train": (
        ("train", TINY, "--threads", "1", "--limit", "200", Q),
        ("--steps", "--image-size", "--processes", "--seed"),
        ("--valid",),
    ),
    "scale": (
        ("scale", *SPACE, Q),
        ("--stages", "--extrapolate", "--steps", "--bases", "--rounds", "--population", "--generations",
         "--network-steps", "--order", "--limit", "--threads", "--workers", "--seed"),
        ("--minutes", "--ratio"),
    ),
    "select": (
        ("select", "--models", "logistic,mlp", "--sizes", "40,80", "--limit", "200", Q),
        ("--seeds", "--workers", "--processes"),
        ("--minutes",),
    ),
    "sample": (("sample", "macro"), ("-n", "--seed"), ()),
    "predict": (("predict", "{kept}/search/models/model-1", "{kept}/images"), ("--top", "--batch"), ()),
    "latency": (("latency", "macro/00000000", "--engine", "eager", Q), ("--threads", "--repeats"), ()),
    "robustness": (("robustness", "{kept}/train", Q), ("-n", "--images", "--seed"), ()),
    "data check": (("data", "check", "{kept}/images", Q), ("--resolution", "--limit", "--seed"),
                   ("--valid", "--calibrate", "--test")),
    "finish": (("finish", "{kept}/search", "model-1", Q), ("--steps",), ("--minutes",)),
}  # fmt: skip
LISTS = (
    ("latency", "macro/00000000", "--engine", "eager", Q, "--batch"),
    ("rank", "--score", "macs", "--truth", "mean_acc", "--space", "macro", Q, "--top"),
)


def numbers() -> Iterator[Case]:
    """Numbers that are none, or that no machine can do."""
    for (start, whole, real), _ in product(OPTIONS.values(), (0,)):
        needs = tuple(n for n in ("search", "train") if any(f"{{kept}}/{n}" in a for a in start))
        for i, option in enumerate(whole):
            for value in (WHOLE[i % len(WHOLE)], WHOLE[(i + 4) % len(WHOLE)], "-1", HUGE):
                yield Case("number", (*start, option, value), says=value, light=True, needs=needs)
        for option in real:
            for value in (*REAL, "-1", "1e300"):
                yield Case("number", (*start, option, value), light=True, needs=needs)
    for start in LISTS:
        for value in ("²", "٣", "1,,x", "-1", "0", HUGE, "nan", "1e400", ",", "1.5"):
            yield Case("number", (*start, value), light=start[0] == "rank" or value != HUGE)
    for value in ("²", "nan", "0", "-0.1", "1e400", "x"):
        yield Case("number", ("select", "--models", "logistic,mlp", "--rates", value, Q), light=True)
        yield Case("number", ("select", "--models", "logistic,mlp", "--sizes", value, Q), light=True)
    for value in ("²", "nan", "1e400M", "x", "-3", ""):
        yield Case("number", ("cost", "--of-search", "--budgets", f"350M,{value}x"), light=True)
        yield Case("number", ("sample", "--table", "macro", "--equidistant", "3", "--by", "mean_acc", "--drop-worst",
                              value or "%"), light=True)  # fmt: skip
    for value in ("nan", "0", "-1", HUGE, "1e9"):
        yield Case("number", ("cost", "--of-search", "--deployments", value), light=True)
        yield Case("number", ("cost", "attentive", "attentive-a0", "--scale", f"depth={value}"), light=True)
        yield Case("number", ("cost", "attentive", "attentive-a0", "--scale", f"resolution={value}px"), light=True)
        yield Case("number", ("sample", "macro", "--table", "macro", "--by", "mean_acc", "--equidistant", value),
                   light=True)  # fmt: skip


# --- limits and objectives --------------------------------------------------------------------------------------------

BAD_LIMITS = {
    "accuracy>=200%": "100",
    "accuracy<0%": "",
    "valid/accuracy>100": "",
    "valid/accuracy in 101..120": "",
    "f1>=101": "",
    "latency<=0ms": "",
    "latency<=-1ms": "",
    "latency<0": "",
    "latency<=3M": "ms",
    "latency<=3%": "ms",
    "valid/accuracy<=3ms": "%",
    "accuracy>=3K": "%",
    "macs<=0": "",
    "macs<=-1M": "",
    "macs<=3ms": "",
    "macs<=40%": "",
    "params<=5ms": "",
    "cross_entropy<=3ms": "",
    "cross_entropy<=40%": "",
    "macs<=1e400": "1e400",
    "macs>=1e400": "1e400",
    "macs<=nan": "",
    "macs<=inf": "",
    "macs<=²M": "",
    "macs<=٣M": "",
    "macs<=": "",
    "macs": "",
    "<=3M": "",
    "macs<=3M<=4M": "",
    "macs=3M": "",
    "macs==3M": "",
    "macs in 3M": "",
    "macs in 3M..": "",
    "macs in 5M..3M": "low to high",
    "flops<=3M": "macs",
    "FLOPs<=3M": "macs",
    "parameters<=3M": "params",
    "acc>=90%": "accuracy",
    "top1>=90%": "accuracy",
    "test/accuracy>=90%": "test data",
    "": "",
    LONG: "",
    "macs\x1b[31m<=3M": "",
}


def limits() -> Iterator[Case]:
    """Limits that nothing can satisfy, in the wrong unit, of unknown metrics."""
    for text, says in BAD_LIMITS.items():
        yield Case("limit", ("search", *SMALL, *ALONE, Q, "--where", text), says=says, light=True)
    for text in ("macs<=0", "macs<=3ms", "macs<=1e400", "flops<=3M", "params<=nan", "", "macs<=²M", "peak<=-1"):
        yield Case("limit", ("sample", "macro", "--where", text), light=True)
        yield Case("limit", ("search", "--table", "nasbench201", "--where", text), light=True)
    for text in ("max", "min", "max ", "best accuracy", "max macs extra", "max flops", "min test/accuracy", "",
                 "max \x1b[31m", LONG):  # fmt: skip
        yield Case("objective", ("search", *SMALL, *ALONE, Q, "--objective", text), light=True)
        yield Case("objective", ("search", "--table", "nasbench201", "--objective", text), light=True)
    for pair in (("max accuracy", "max accuracy"), ("min macs", "min cost/macs")):
        yield Case("objective", ("search", *SMALL, Q, "--objective", pair[0], "--objective", pair[1]), light=True)
    for text in ("1,2,3", "nan,1", "inf,1", "-1,1", "1e400,1", "²,1", "0,0"):
        yield Case("number", ("search", "--table", "nasbench201", "--weights", text), light=True)


# --- names ------------------------------------------------------------------------------------------------------------

CHOICES = {
    ("search", *SMALL, *ALONE, Q): (
        "--searcher", "--preset", "--sampler", "--stabiliser", "--balance", "--int8", "--device", "--precision",
        "--supernet", "--evidence", "--augment", "--retrain", "--start",
    ),
    ("train", TINY, "--limit", "200", Q): ("--sampler", "--stabiliser", "--balance", "--device", "--precision",
                                           "--snapshots"),
    ("scale", *SPACE, Q): ("--curve", "--prior", "--balance", "--int8", "--device", "--precision", "--base-budget"),
    ("select", "--models", "logistic,mlp", Q): ("--on", "--size", "--device", "--precision"),
    ("sample", "macro"): ("--prior", "--method"),
    ("rank", "--score", "macs", "--truth", "mean_acc", "--space", "macro", Q): ("--combine", "--device", "--precision",
                                                                               "--without", "--against", "--table"),
    ("latency", "macro/00000000", Q): ("--engine", "--device"),
}  # fmt: skip


def names() -> Iterator[Case]:
    """Names that do not exist."""
    for start, options in CHOICES.items():
        for option, value in product(options, ("bogus", "\x1b[2Jbad", "²")):
            yield Case("name", (*start, option, value), light=start[0] != "latency")
    for device, says in (("gpu", "cuda"), ("GPU", "cuda"), ("cuda:²", ""), ("cuda:x", ""), ("cpu:1", ""), ("tpu", "")):
        yield Case("name", ("search", *SMALL, Q, "--device", device), says=says, light=True)
        yield Case("name", ("train", TINY, Q, "--device", device), says=says, light=True)
    for space in ("macroo", "", "macro:", "macro:channels", "macro:=", "nowhere.toml", "nowhere.py", LONG, "\x1b[31mx"):
        if space != "macro:":
            yield Case("name", ("cost", space, "00000000"), light=True)
            yield Case("name", ("train", space, Q), light=True)
            yield Case("name", ("search", "--space", space or "x", Q), light=True)
    for arch in ("0", "000000003", "²0000000", "٣0000000", "0,0", "nowhere", "", "99999999", LONG, "0" * 100_000):
        yield Case("name", ("cost", "macro", arch), light=True)
        yield Case("name", ("derive", "{kept}/train", arch or "x", Q), needs=("train",))
    for text in ("bogus", "RUN:", ":", "+", "macs+", "nowhere.csv", "nowhere.csv:", LONG, "macs,macs"):
        yield Case("name", ("rank", "--score", text, "--truth", "mean_acc", "--space", "macro", Q), light=True)
        yield Case("name", ("rank", "--score", "macs", "--truth", text, "--space", "macro", Q), light=True)
    yield from (Case("name", ("serch",), light=True), Case("name", ("search", "--wehre", "x"), light=True))
    yield from (Case("name", ("data", "get", n), light=True) for n in ("bogus", "embedded", "imagenet", LONG, ""))


# --- settings behind names --------------------------------------------------------------------------------------------


def settings() -> Iterator[Case]:
    """Settings written behind a name."""
    for text in (
        "channels=4,channels=8", "channels=0", "channels=-1", "channels=nan", "channels=1e400", "channels=²",
        "channels=٣", "channels=1_6", f"channels={HUGE}", "channels=4.5", "channels=", "chanels=4", "resolution=0",
        f"resolution={HUGE}", "resolution=100000000", "channels=100000000", "head=1000000000", "without=bogus",
    ):  # fmt: skip
        yield Case("setting", ("cost", f"macro:{text}", "00000000"), light=True)
        yield Case("setting", ("search", "--space", f"macro:{text}", Q), light=True)
    for text in (
        "attentive:resolutions=192+192", "attentive:resolutions=", "attentive:resolutions=0", "attentive:width=nan",
        "attentive:width=inf", "attentive:width=1e400", "attentive:width=1e300", "attentive:resolutions=192+²",
        "nasbench201:cells=999999999", "nasbench201:cells=0", "nasbench201:without=none+none",
        "nasbench201:without=bogus", "nasbench101:cells=99999999", "scarlet-s1:width=1e7", "scalenet:released=maybe",
        "efficientnet:resolution=-3", "mixed:channels=99999999999", "deep-narrow:colours=3",
    ):  # fmt: skip
        yield Case("setting", ("sample", text, "-n", "1"), light=True)
    for text in (
        "local:improve=bogus", "local:improve=best,improve=best", "evolution:population=nan", "evolution:bogus=1",
        "random:x", "nsga2:population=99999999999999", "thompson:pool=-1", "mcea:rounds=0", "nsga2:population=1e400",
    ):  # fmt: skip
        yield Case("setting", ("search", "--table", "nasbench201", "--searcher", text), light=True)
    for text in ("attentive:k=0", "attentive:k=nan", "attentive:k=5,k=6", "attentive:kk=5", "sandwich:n=-1",
                 "uniform:x=1", f"sandwich:n={HUGE}"):  # fmt: skip
        yield Case("setting", ("train", TINY, "--limit", "200", "--sampler", text, Q))


# --- TOML -------------------------------------------------------------------------------------------------------------

DECLARED: dict[str, Any] = {
    "stem": {"width": 8},
    "stages": [{"width": [8, 12], "depth": [1, 2]}],
    "resolution": 16,
    "classes": 10,
}
BAD_SPACES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "huge kernel": lambda d: d["stages"][0].update(kernel=99999999999),
    "large kernel": lambda d: d["stages"][0].update(kernel=100001),
    "huge width": lambda d: d["stages"][0].update(width=[8, 10**15]),
    "large width": lambda d: d["stages"][0].update(width=[8, 10**8]),
    "huge depth": lambda d: d["stages"][0].update(depth=[1, 10**9]),
    "5,000 blocks": lambda d: d["stages"][0].update(depth=[5000]),
    "5,000 stages": lambda d: d.update(stages=d["stages"] * 5000),
    "huge expansion": lambda d: d["stages"][0].update(expansion=[1e300]),
    "infinite expansion": lambda d: d["stages"][0].update(expansion=[float("inf")]),
    "expansion that is no number": lambda d: d["stages"][0].update(expansion=[float("nan")]),
    "huge resolution": lambda d: d.update(resolution=10**9),
    "huge classes": lambda d: d.update(classes=10**12),
    "huge channels": lambda d: d.update(in_channels=10**12),
    "huge stem": lambda d: d["stem"].update(width=10**12),
    "huge head": lambda d: d.update(head={"width": 10**12}),
    "equal resolutions": lambda d: d.update(resolution=[16, 16]),
    "equal widths": lambda d: d["stages"][0].update(width=[8, 8]),
    "even kernel": lambda d: d["stages"][0].update(kernel=4),
    "text for a width": lambda d: d["stages"][0].update(width="8"),
    "true for a width": lambda d: d["stages"][0].update(width=True),
    "a date": lambda d: d.update(classes=tomllib.loads("x = 2020-01-01")["x"]),
    "no stages": lambda d: d.update(stages=[]),
    "stages that are no tables": lambda d: d.update(stages=[1]),
    "stages that are text": lambda d: d.update(stages="many"),
    "a stem that is a list": lambda d: d.update(stem=[]),
    "an unknown key": lambda d: d.update(stemm=1),
    "name that is a number": lambda d: d.update(name=3),
    "stride 3": lambda d: d["stages"][0].update(stride=3),
    "too many strides": lambda d: d.update(stages=[{"width": [8, 9], "stride": 4}] * 2000),
    "too many options": lambda d: d["stages"][0].update(width=list(range(1, 300))),
    "negative": lambda d: d["stages"][0].update(width=-8),
}
BAD_RECIPES = {
    "lr = inf": "lr",
    "lr = nan": "lr",
    "lr = -1": "lr",
    "lr = 0": "lr",
    "lr = 1e400": "lr",
    "momentum = nan": "momentum",
    "momentum = 1.0": "momentum",
    "weight_decay = inf": "weight_decay",
    "clip_norm = inf": "clip_norm",
    "lr_end = inf": "lr_end",
    "decay_factor = inf": "decay_factor",
    "eps = inf": "eps",
    "shared_lr = inf": "shared_lr",
    "batch_size = 0": "batch_size",
    "batch_size = 99999999999": "batch_size",
    "batch_size = 1.5": "batch_size",
    "batch_size = true": "batch_size",
    'length = "٣ epochs"': "length",
    'length = "² epochs"': "length",
    'length = "0 steps"': "length",
    'length = "99999999999999999999 steps"': "length",
    'length = "1e400 epochs"': "length",
    'length = "-1 epochs"': "length",
    "length = 3": "length",
    'warmup = "soon"': "warmup",
    'optimiser = "adamw2"': "optimiser",
    'schedule = "bogus"': "schedule",
    'augment = "bogus"': "bogus",
    'lr = "0.1"': "lr",
    "lrr = 0.1": "lr",
    "lr = 0.1\nlr = 0.2": "",
    "lr = ": "",
    "[lr]": "lr",
    "a = " + "[" * 3000 + "]" * 3000: "",
    "nesterov = 1": "nesterov",
    "ema = 1.0": "ema",
    "dropout = -0.1": "dropout",
    "sampler = 3": "",
    'sampler = "bogus"': "",
    "sampler = {}": "",
    'decay_at = [1]\nschedule = "step"': "",
}
BAD_STUDIES = {
    'title = ""': "title",
    "title = 3": "title",
    "seeds = []": "seeds",
    "seeds = [0, 0]": "seeds",
    "seeds = [-1]": "seeds",
    "seeds = [1.5]": "seeds",
    "seeds = [99999999999999999999999999]": "seeds",
    "seeds = 3": "seeds",
    "from = 3": "from",
    "from = [3]": "from",
    'from = ["nowhere.toml"]': "nowhere.toml",
    'from = ["study.toml"]': "",
    "measure = 3": "measure",
    'measure = { kind = "bogus" }': "bogus",
    "measure = { kind = 3 }": "kind",
    'measure = { kind = "ranking", bogus = 1 }': "bogus",
    'measure = { kind = "ranking", truth = 3 }': "",
    "grid = 3": "grid",
    "grid = { a = 3 }": "",
    "grid = { a = {} }": "",
    "grid = { a = { b = 3 } }": "",
    "grid = { a = { b = { c = 3 } } }": "",
    "base = { space = 3 }": "space",
    'base = { space = "bogus" }': "bogus",
    'base = { space = "macro", steps = "x" }': "steps",
    'base = { space = "macro", recipe = "nowhere.toml" }': "nowhere.toml",
    'base = { space = "macro", recipe = { lr = inf } }': "lr",
    'base = { space = "macro", limit = true }': "limit",
    "claims = 3": "claims",
    "claims = [{}]": "",
    'claims = [{ text = 3, metric = "tau", variant = "all", above = "all" }]': "",
    'claims = [{ text = "x", metric = "tau", variant = "bogus", above = 0.1 }]': "bogus",
    "figures = [{ variants = 3 }]": "",
    'figures = [{ variants = ["bogus"] }]': "bogus",
    'figures = [{ bogus = "x" }]': "bogus",
    'scale = ["x"]': "scale",
    "data = 3": "data",
    "bogus = 1": "bogus",
    "[[": "",
}
BAD_REQUESTS = {
    "minutes = nan": "minutes",
    "minutes = inf": "minutes",
    'minutes = "x"': "minutes",
    "minutes = -1": "minutes",
    "keep = 0": "keep",
    "keep = 1.5": "keep",
    "keep = true": "keep",
    "keep = 99999999999999999999": "keep",
    "seed = -1": "seed",
    "seed = 99999999999999999999999": "seed",
    'seed = "0"': "seed",
    "where = 3": "where",
    "where = [3]": "where",
    'where = ["macs<=1e400"]': "1e400",
    'where = ["latency<=3M"]': "ms",
    "data = 3": "data",
    'data = "nowhere/"': "nowhere",
    r'data = "a\u0000b"': "",
    r'space = "a\u0000b.toml"': "",
    "space = 3": "space",
    "out = 'x'": "out",
    "bogus = 1": "bogus",
    'job = "train"': "train",
    "job = 3": "",
    'sampler = { name = "bogus" }': "bogus",
    "sampler = { name = 3 }": "",
    "recipe = { lr = inf }": "lr",
    "retrain_recipe = { lr = inf }": "lr",
    "recipe = { bogus = 1 }": "bogus",
    'recipe = "nowhere.toml"': "nowhere.toml",
    "baselines = 3": "baselines",
    'baselines = ["nowhere.py"]': "nowhere.py",
    "stages = []": "stages",
    'threads = "x"': "threads",
    "threads = 99999999999": "threads",
    "workers = 0": "workers",
    'table = "bogus"': "bogus",
    'table = "nasbench201"\nweights = [nan, 1]': "weights",
    'table = "macro"\nminutes = 3': "minutes",
    "a" * 5000: "",
    "x = " + "[" * 3000 + "]" * 3000: "",
}


def _write(name: str, text: str | bytes, _: Path) -> None:
    Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())


def _declare(change: Callable[[dict[str, Any]], Any], _: Path) -> None:
    table = json.loads(json.dumps(DECLARED))
    change(table)
    Path("mine.toml").write_text(tomli_w.dumps(table), encoding="utf-8")


def _study(text: str, _: Path) -> None:
    lines = {"title": '"x"', "measure": '{ kind = "ranking", truth = "mean_acc" }', "base": '{ space = "macro" }'}
    given = text.partition(" = ")[0]
    whole = "\n".join(f"{k} = {v}" for k, v in lines.items() if k != given)
    Path("study.toml").write_text(f"{whole}\n{text}\n", encoding="utf-8")


def _huge_grid(_: Path) -> None:
    axes = "\n".join(f"[grid.axis{i}]\n" + "\n".join(f"o{i}{j} = {{}}" for j in range(10)) for i in range(7))
    _study(axes, _)


def tables_of_toml() -> Iterator[Case]:
    """Files of spaces, recipes, studies and requests."""
    for name, change in BAD_SPACES.items():
        prepare = partial(_declare, change)
        yield Case("space file", ("cost", "mine.toml", "0,0"), prepare, says="mine.toml", light=True, name=name)
        yield Case("space file", ("search", "--space", "mine.toml", "--limit", "200", Q), prepare, says="mine.toml",
                   light=True, name=name)  # fmt: skip
    for text, says in BAD_RECIPES.items():
        prepare = partial(_write, "recipe.toml", text)
        yield Case("recipe", ("train", TINY, "--limit", "200", "--recipe", "recipe.toml", Q), prepare, says=says,
                   name=text[:60])  # fmt: skip
    for text in ("lr = inf", "batch_size = 99999999999", "lrr = 1", "a = " + "[" * 3000, 'length = "٣ epochs"'):
        prepare = partial(_write, "recipe.toml", text)
        yield Case("recipe", ("search", *SMALL, *ALONE, "--retrain-recipe", "recipe.toml", Q), prepare, name=text[:60])
        yield Case(
            "recipe", ("select", "--models", "logistic,mlp", "--recipe", "recipe.toml", Q), prepare, name=text[:60]
        )
    for text, says in BAD_STUDIES.items():
        yield Case("study", ("study", "study.toml", Q), partial(_study, text), says=says, name=text[:60])
    yield Case("study", ("study", "study.toml", Q), _huge_grid, name="ten million variants")
    for text, says in BAD_REQUESTS.items():
        prepare = partial(_write, "request.toml", f'{text}\n' if "space" in text or "table" in text else
                          f'space = "{TINY}"\n{text}\n')  # fmt: skip
        on_images = () if "table" in text else ("--limit", "200")
        yield Case("request", ("search", "request.toml", Q, *on_images), prepare, says=says, light=".py" not in text,
                   name=text[:60])  # fmt: skip
        if text.startswith(("minutes", "seed", "threads", "stages", "bogus", "job = 3", "recipe")):
            yield Case("request", ("scale", "request.toml", Q), prepare, name=text[:60])
    on_file: tuple[tuple[str, ...], ...]
    on_file = (("study", "x.toml"), ("search", "x.toml", Q), ("cost", "x.toml", "0"), ("train", "x.toml", Q))
    for data, command in product((b"\xff\xfe", b"", b"\x00" * 100), on_file):
        if data or command[0] != "search":  # an empty request asks for the default search
            yield Case("TOML", command, partial(_write, "x.toml", data), says="x.toml", name=repr(data[:4]))
    for text in ("{}", "[]", '{"a": 3}', "3", "nan", '{"a": {"b": -1}}', '{"x": {"y": 1e400}}', "{" * 5000):
        yield Case("prior", ("sample", "macro", "--prior", "prior.json"), partial(_write, "prior.json", text),
                   light=True, name=text[:20], expects=ANSWERED if text == "{}" else REFUSED)  # fmt: skip
    for text in ("arch\n00000000\n", "arch,x\n0,1\n", "arch,x\n00000000,nan\n", "", "\x00", "x,y\n1,2\n",
                 "arch,x\n00000000,²\n", "arch,x\n00000000,1e400\n", 'arch,x\n"00000000,1\n', "arch,x\n٣0000000,1\n",
                 "arch,x,x\n00000000,1,1\n", "arch,x\n00000000,1\n00000000,2\n", "arch,x\n00000000\n"):  # fmt: skip
        prepare = partial(_write, "own.csv", text)
        says = "" if "nan" in text else "own.csv"
        yield Case("table", ("search", "--table", "own.csv", "--space", "macro"), prepare, says=says, light=True,
                   name=text[:40])  # fmt: skip
        yield Case("table", ("rank", "--score", "own.csv", "--truth", "mean_acc", "--space", "macro", Q), prepare,
                   light=True, name=text[:40])  # fmt: skip


# --- paths ------------------------------------------------------------------------------------------------------------

BAD_PATHS = {
    "long": LONG,
    "long inside": f"{LONG}/x",
    "too long in all": "/".join(["y" * 200] * 30),
    "through a file": "file.txt/x",
    "a loop": "loop",
    "escape": "\x1b[31mred",
    "line feed": "a\nb",
    "not UTF-8": SURROGATE,
}
READING = {  # commands that read what a path names; `{}` is the path
    ("train", TINY, "{}", Q): "data",
    ("search", "{}", *SMALL, Q): "data",
    ("select", "{}", "--models", "logistic,mlp", Q): "data",
    ("data", "check", "{}", Q): "data",
    ("cost", "{}.toml", "0"): "space",
    ("cost", "{}.py", "0"): "space",
    ("search", "{}.toml", Q): "request",
    ("study", "{}.toml", Q): "study",
    ("train", TINY, "--recipe", "{}.toml", "--limit", "200", Q): "recipe",
    ("train", TINY, "--start", "{}", "--limit", "200", Q): "run",
    ("search", *SMALL, *ALONE, "--baseline", "{}.py", Q): "baseline",
    ("sample", "macro", "--latency", "{}", "--where", "latency<=3ms"): "latency",
    ("sample", "macro", "--prior", "{}.json"): "prior",
    ("search", "--table", "{}.csv", "--space", "macro"): "table",
    ("rank", "--score", "{}.csv", "--truth", "mean_acc", "--space", "macro", Q): "scores",
    ("rank", "--score", "{}/x", "--truth", "mean_acc", "--space", "macro", Q): "run",
    ("resume", "{}"): "run",
    ("report", "{}"): "run",
    ("report", "{}", "{}"): "runs",
    ("export", "{}"): "run",
    ("derive", "{}", "00000000"): "run",
    ("finish", "{}", "model-1", "--steps", "1"): "run",
    ("robustness", "{}", Q): "run",
    ("predict", "{}", "x.png"): "model",
    ("predict", "{kept}/search/models/model-1", "{}"): "images",
    ("latency", "{}.onnx", Q): "file",
    ("latency", "{}/x", Q): "model",
    ("data", "get", "cifar10", "--to", "{}"): "place",
}
WRITING = {  # commands that would write where a path says
    ("train", TINY, "--steps", "1", "--limit", "200", "--threads", "1", Q, "--out", "{}"): (),
    ("search", "--table", "nasbench201", "--evaluations", "20", "--out", "{}"): (),
    ("search", *SMALL, *ALONE, "--dry-run", "--save", "{}.toml"): (),
    ("export", "{kept}/search", "--out", "{}"): ("search",),
    ("study", "{kept}/study.toml", Q, "--out", "{}"): (),
    ("report", "{kept}/train", "{kept}/search", "--out", "{}"): ("train", "search"),
}


def _bad_paths(_: Path) -> None:
    Path("file.txt").write_text("x", encoding="utf-8")
    os.symlink("loop", "loop")


def paths() -> Iterator[Case]:
    """Names that no file can have, or that lead nowhere."""
    for (command, what), (name, path) in product(READING.items(), BAD_PATHS.items()):
        needs: tuple[str, ...] = ("search",) if any("{kept}/search" in a for a in command) else ()
        if what == "place" and name in ("escape", "line feed", "not UTF-8"):
            continue  # those could be made
        arguments = tuple(a.replace("{}", path) for a in command)
        yield Case("path", arguments, _bad_paths, needs=needs, name=f"{what} {name}")
    for (command, needs), (name, path) in product(WRITING.items(), BAD_PATHS.items()):
        if name == "a loop" and (command[0] == "report" or "{}" not in command):
            continue  # a page takes the place of a link, wherever that led; and loop.toml is no loop
        if name in ("long", "long inside", "too long in all", "through a file", "a loop"):
            arguments = tuple(a.replace("{}", path) for a in command)
            yield Case("path", arguments, _bad_paths, needs=needs, name=f"out {name}")
    yield Case("path", ("search", *SMALL, "--dry-run", "--save", "folder"), lambda _: Path("folder").mkdir())
    yield Case("path", ("report", "{kept}/train", "{kept}/search", "--out", "folder"),
               lambda _: Path("folder").mkdir(), needs=("train", "search"), name="out is a folder")  # fmt: skip
    for command in (("train", TINY, "--steps", "1", "--limit", "200", Q, "--out", "folder"),
                    ("search", "--table", "nasbench201", "--out", "folder"),
                    ("study", "{kept}/study.toml", Q, "--out", "folder")):  # fmt: skip
        yield Case("path", command, _full_folder, name="out holds other files")
    yield Case("path", ("train", TINY, "--steps", "1", "--limit", "200", Q, "--out", "/proc/nowhere"))
    yield Case("path", ("data", "get", "cifar10", "--to", "/proc/nowhere"))
    yield Case("path", ("data", "get", "cifar10", "--to", "file.txt"), _bad_paths)


def _full_folder(_: Path) -> None:
    Path("folder").mkdir()
    Path("folder/mine.txt").write_text("x", encoding="utf-8")


# --- FIFOs, devices, links --------------------------------------------------------------------------------------------


def _fifo(name: str, _: Path) -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(name)


def _device(name: str, _: Path) -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    os.symlink("/dev/zero", name)


def special_files(kept: Path) -> Iterator[Case]:
    """Pipes that nobody writes to, and devices that never end."""
    for kind, make in (("pipe", _fifo), ("device", _device)):
        for command, file in (
            (("cost", "x.toml", "0"), "x.toml"),
            (("cost", "x.py", "0"), "x.py"),
            (("search", "x.toml", Q), "x.toml"),
            (("study", "x.toml", Q), "x.toml"),
            (("train", TINY, "--recipe", "x.toml", "--limit", "200", Q), "x.toml"),
            (("search", *SMALL, *ALONE, "--baseline", "x.py", Q), "x.py"),
            (("sample", "macro", "--prior", "x.json"), "x.json"),
            (("sample", "macro", "--latency", "x.jsonl", "--where", "latency<=3ms"), "x.jsonl"),
            (("search", "--table", "x.csv", "--space", "macro"), "x.csv"),
            (("search", "--table", "x.npz", "--space", "macro"), "x.npz"),
            (("rank", "--score", "x.csv", "--truth", "mean_acc", "--space", "macro", Q), "x.csv"),
            (("train", TINY, "x.npz", Q), "x.npz"),
            (("train", TINY, "x.tar", Q), "x.tar"),
            (("train", TINY, "x", Q), "x/run.toml"),
            (("data", "check", "x.npz", Q), "x.npz"),
            (("data", "check", "x.tar.gz", Q), "x.tar.gz"),
            (("data", "check", "x", Q), "x/labels.npz"),
            (("resume", "x"), "x/run.toml"),
            (("report", "x"), "x/run.toml"),
            (("export", "x"), "x/run.toml"),
            (("export", "x"), "x/model.json"),
            (("predict", "x", "y.png"), "x/model.json"),
            (("latency", "x", Q), "x/model.json"),
            (("latency", "x.onnx", Q), "x.onnx"),
            (("robustness", "x", Q), "x/run.toml"),
            (("derive", "x", "00000000"), "x/run.toml"),
            (("select", "--models", "x.txt", Q), "x.txt"),
        ):
            yield Case("special file", command, partial(make, file), name=f"{kind} {file}")
        yield Case("special file", ("predict", "{kept}/search/models/model-1", "x.png"), partial(make, "x.png"),
                   needs=("search",), name=f"{kind} x.png")  # fmt: skip
        yield Case("special file", ("data", "check", "x", Q), partial(_image_among, make, "x"), name=f"{kind} as image",
                   expects=ANSWERED)  # fmt: skip
        for file in ("model.safetensors", "model.onnx", "model.json", "labels.txt"):
            for command in (("predict", "run", "{kept}/images"), ("export", "run"), ("latency", "run", Q)):
                yield Case("special file", command, partial(_replaced, kept, "search/models/model-1", file, make),
                           needs=("search",), name=f"{kind} {file}")  # fmt: skip
        for file in ("run.toml", "networks.json", "search.json", "trials.jsonl", "timings.jsonl", "trust.json",
                     "result.json"):  # fmt: skip
            for command in (("report", "run"), ("export", "run"), ("resume", "run")):
                yield Case("special file", command, partial(_replaced, kept, "search", file, make),
                           needs=("search",), name=f"{kind} {file}", expects=ANSWERED)  # fmt: skip


def _image_among(make: Callable[[str, Path], None], folder: str, here: Path) -> None:
    images(Path(folder))
    make(f"{folder}/class0/zz.png", here)


def _replaced(kept: Path, run: str, file: str, make: Callable[[str, Path], None], here: Path) -> None:
    take(kept, run)
    Path("run", file).unlink()
    make(f"run/{file}", here)


# --- data -------------------------------------------------------------------------------------------------------------


def _npz(_: Path, **arrays: Any) -> None:
    np.savez("x.npz", **arrays)


def _claims_much(here: Path, shape: tuple[int, ...] = (10**7, 64, 64)) -> None:
    """An archive whose header promises 40 GB of images."""
    import zipfile

    header: Any = {"descr": "|u1", "fortran_order": False, "shape": shape}
    with zipfile.ZipFile("x.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("images.npy", "w") as file:
            np.lib.format.write_array_header_1_0(file, header)
            file.write(b"\0" * 1000)
        with archive.open("labels.npy", "w") as file:
            np.lib.format.write_array(file, np.zeros(100, np.int64))


def _latin_folder(_: Path) -> None:
    images(Path("x"))
    os.rename("x/class0", os.fsencode("x/") + b"caf\xe9")


def _spoilt(content: bytes, _: Path) -> None:
    images(Path("x"))
    Path("x/class0/05.png").write_bytes(content)


def _bomb(_: Path) -> None:
    """A PNG whose header promises a gigapixel."""
    images(Path("x"))
    Image.new("L", (1, 1)).save("x/class0/00.png")
    data = bytearray(Path("x/class0/00.png").read_bytes())
    data[16:24] = (60000).to_bytes(4, "big") * 2
    import zlib

    data[29:33] = zlib.crc32(bytes(data[12:29])).to_bytes(4, "big")
    Path("x/class0/00.png").write_bytes(bytes(data))


def data_sets() -> Iterator[Case]:
    """Images and labels that cannot be used."""
    pixels, labels = np.zeros((60, 8, 8), np.uint8), np.arange(60) % 2
    pixels[:, 0, 0] = np.arange(60)
    broken: dict[str, dict[str, Any]] = {
        "duplicate classes": {"images": pixels, "labels": labels, "classes": ["a", "a"]},
        "classes that are numbers": {"images": pixels, "labels": labels, "classes": np.zeros((2, 2))},
        "no labels": {"images": pixels},
        "nothing": {},
        "fewer labels": {"images": pixels, "labels": labels[:5]},
        "labels of two axes": {"images": pixels, "labels": np.zeros((60, 2), int)},
        "negative labels": {"images": pixels, "labels": labels - 1},
        "labels that are floats": {"images": pixels, "labels": labels + 0.5},
        "labels that are no numbers": {"images": pixels, "labels": np.full(60, np.nan)},
        "huge labels": {"images": pixels, "labels": labels * 10**12},
        "one class": {"images": pixels, "labels": labels * 0},
        "five axes": {"images": np.zeros((60, 8, 8, 3, 2), np.uint8), "labels": labels},
        "two channels": {"images": np.zeros((60, 8, 8, 2), np.uint8), "labels": labels},
        "no pixels": {"images": np.zeros((60, 0, 8), np.uint8), "labels": labels},
        "pixels that are no numbers": {"images": np.full((60, 8, 8), np.nan), "labels": labels},
        "pixels that are text": {"images": np.full((60, 8, 8), "x"), "labels": labels},
        "pixels far too bright": {"images": np.full((60, 8, 8), 1e30), "labels": labels},
        "complex pixels": {"images": np.zeros((60, 8, 8), complex), "labels": labels},
        "fewer classes than labels": {"images": pixels, "labels": labels, "classes": ["a"]},
        "splits of two sizes": {"x_train": pixels, "y_train": labels, "x_test": np.zeros((9, 9, 9), np.uint8),
                                "y_test": labels[:9]},
        "an object": {"images": np.array([{}], dtype=object), "labels": labels},
    }  # fmt: skip
    command: tuple[str, ...]
    for name, arrays in broken.items():
        for command in (("data", "check", "x.npz", Q), ("train", TINY, "x.npz", "--steps", "1", Q)):
            yield Case("data", command, partial(_npz, **arrays), name=name, says="x.npz")
    contents = {"no image": b"no image", "empty": b"", "half": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"}
    for name, prepare in (
        ("claims 40 GB", _claims_much),
        ("claims more than there is", partial(_claims_much, shape=(2**62, 2))),
        ("claims a negative size", partial(_claims_much, shape=(-5, 8, 8))),
    ):
        for command in (("data", "check", "x.npz", Q), ("train", TINY, "x.npz", "--steps", "1", Q)):
            yield Case("data", command, prepare, name=name, says="x.npz")
    for name, content in contents.items():
        for command in (("data", "check", "x", Q), ("train", TINY, "x", "--steps", "1", Q),
                        ("search", "x", *SMALL[2:-2], *ALONE, "--space", "mixed:channels=4", Q)):  # fmt: skip
            yield Case("data", command, partial(_spoilt, content), name=f"one image: {name}", says="05.png")
    for name, make in (("not UTF-8", _latin_folder), ("gigapixel", _bomb)):
        for command in (("data", "check", "x", Q), ("train", TINY, "x", "--steps", "1", Q)):
            yield Case("data", command, make, name=name)
    for name, text in (("npz", b"PK\x03\x04junk"), ("tar", b"junk"), ("tar.gz", b"\x1f\x8bjunk"), ("npz", b"")):
        yield Case("data", ("data", "check", f"x.{name}", Q), partial(_write, f"x.{name}", text), name=repr(text[:3]))
    for folders in ((), ("x",), ("x/a", "x/b"), ("x/train",), ("x/train/a", "x/test/b")):
        yield Case("data", ("data", "check", "x" if folders else ".", Q), partial(_folders, folders),
                   name=" ".join(folders) or "nothing")  # fmt: skip
    for options in (("--classes", "bogus"), ("--classes", "class0"), ("--classes", "class0,class0"),
                    ("--limit", "1"), ("--resolution", "5000"), ("--valid", "0.99"), ("--test", "0.99"),
                    ("--valid", "1e9"), ("--calibrate", "2")):  # fmt: skip
        yield Case("data", ("data", "check", "{kept}/images", Q, *options), needs=(),
                   expects=ANSWERED if "--calibrate" in options else REFUSED)  # fmt: skip
    for images_ in (
        "{kept}/search/models",
        "{kept}/study.toml",
        "nowhere.png",
        "nowhere",
        "{kept}/images/class0/nowhere.png",
    ):
        yield Case("data", ("predict", "{kept}/search/models/model-1", images_), needs=("search",))


def _folders(names_: tuple[str, ...], _: Path) -> None:
    for name in names_:
        Path(name).mkdir(parents=True, exist_ok=True)


# --- runs -------------------------------------------------------------------------------------------------------------


def wrong_runs(kept: Path) -> Iterator[Case]:
    """A run of another kind than the command is for."""
    commands: dict[str, tuple[str, ...]] = {
        "robustness": ("robustness", "run", "-n", "4", Q),
        "train --start": ("train", TINY, "--start", "run", "--steps", "1", "--limit", "200", Q),
        "rank": ("rank", "--score", "run", "--truth", "mean_acc", "--space", "macro", "--sample", "4", Q),
        "derive": ("derive", "run", "00000000", Q),
        "finish": ("finish", "run", "model-1", "--steps", "1", Q),
        "export": ("export", "run"),
        "predict": ("predict", "run", "{kept}/images"),
        "latency": ("latency", "run", Q),
        "why": ("report", "run", "--why", "model-1"),
        "diagnostics": ("report", "run", "--diagnostics", "model-1"),
        "data": ("data", "check", "run", Q),
        "latency table": ("sample", "macro", "--latency", "run", "--where", "latency<=3ms"),
        "space": ("cost", "run", "0"),
        "table": ("search", "--table", "run/trials.jsonl", "--space", "macro"),
    }
    fit: dict[str, tuple[str, ...]] = {"train": ("robustness", "train --start", "rank", "derive")}
    fit["table"] = ("why",)
    fit["search"] = (*fit["train"], "finish", "export", "why", "diagnostics")
    for (name, command), run in product(commands.items(), ("train", "search", "table", "select", "study")):
        if name not in fit.get(run, ()):
            yield Case("wrong run", command, partial(_take, kept, run), needs=(run, "search", "train"),
                       name=f"{name} of {run}")  # fmt: skip
    yield Case("wrong run", ("robustness", "run", Q), partial(_take, kept, "train"), needs=("train",), name="no other")
    yield Case("wrong run", ("report", "run", "--why", "bogus"), partial(_take, kept, "search"), needs=("search",))
    yield Case("wrong run", ("finish", "run", "bogus", "--steps", "1", Q), partial(_take, kept, "search"),
               needs=("search",))  # fmt: skip
    yield Case("wrong run", ("export", "run", "--name", "../x"), partial(_take, kept, "search"), needs=("search",))
    yield Case("wrong run", ("export", "run", "--name", LONG), partial(_take, kept, "search"), needs=("search",))
    yield Case("wrong run", ("derive", "run", "00000000", "--name", "a/b", Q), partial(_take, kept, "train"),
               needs=("train",))  # fmt: skip


def _take(kept: Path, name: str, _: Path) -> None:
    take(kept, name)


DAMAGES: dict[str, bytes] = {
    "empty": b"",
    "not UTF-8": b"\xff\xfe\x00",
    "a list": b"[]",
    "null": b"null",
    "a number": b"3",
    "text": b'"x"',
    "nested deeply": b"[" * 100_000,
    "a huge number": b'{"evaluations": 1' + b"0" * 400 + b"}",
    "not a number": b"NaN",
}
LISTED = b'[{"name": "a", "role": "chosen", "steps": 1' + b"0" * 400 + b"}]"


def _damage(kept: Path, run: str, file: str, change: Callable[[bytes], bytes], here: Path) -> None:
    take(kept, run)
    path = Path("run", file)
    path.write_bytes(change(path.read_bytes()))
    if file != "result.json" and run == "search!":
        Path("run/result.json").unlink(missing_ok=True)


def _unfinished(kept: Path, run: str, change: Callable[[bytes], bytes], here: Path) -> None:
    """A run that is not finished, with damaged settings."""
    _damage(kept, run, "run.toml", change, here)
    Path("run/result.json").unlink()


def _put(content: bytes, _: bytes) -> bytes:
    return content


def _half(data: bytes) -> bytes:
    return data[: len(data) // 2]


def _edited(key: tuple[str, ...], value: Any, toml: bool, data: bytes) -> bytes:
    """The file with one value replaced, or removed if the new one is None."""
    table = tomllib.loads(data.decode()) if toml else json.loads(data)
    inner = table
    for part in key[:-1]:
        inner = inner[int(part)] if isinstance(inner, list) else inner[part]
    if value is None:
        del inner[key[-1]]
    else:
        inner[key[-1]] = value
    return (tomli_w.dumps(table) if toml else json.dumps(table)).encode()


def _keys(path: Path) -> list[tuple[tuple[str, ...], Any]]:
    """The values in a file that are worth damaging: those of the outermost table, of tables in it, of a first item."""
    text = path.read_text(encoding="utf-8")
    table: Any = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    found: list[tuple[tuple[str, ...], Any]] = []
    start: tuple[str, ...] = ()
    if isinstance(table, list):
        table, start = (table[0] if table and isinstance(table[0], dict) else {}), ("0",)
    for key, value in table.items():
        found.append(((*start, key), value))
        if isinstance(value, dict) and key not in ("versions", "sha256"):
            found += [((*start, key, inner), v) for inner, v in list(value.items())[:2]]
    return found


def _other(value: Any) -> Any:
    """A value of another type."""
    return {str: 3, int: "x", float: "x", bool: "x", list: 3, dict: 3}.get(type(value), [3])


RUN_FILES: dict[str, dict[str, tuple[str, ...]]] = {  # by run: files that are damaged, and the commands that read them
    "search": {
        "run.toml": ("report", "export", "finish", "rank", "derive", "resume"),
        "networks.json": ("report", "export", "finish", "why", "diagnostics"),
        "search.json": ("report", "why"),
        "trained.json": ("report",),
        "trust.json": ("report", "why"),
        "correct.json": ("report", "why", "finish"),
        "predictions.json": ("report", "diagnostics"),
        "mistakes.json": ("report", "diagnostics"),
        "splits.json": ("report",),
        "augment.json": ("report",),
        "result.json": ("report", "resume"),
        "exported.json": ("report", "export"),
        "models/model-1/model.json": ("report",),
    },
    "train": {"run.toml": ("report", "rank", "derive", "robustness", "start", "resume"), "result.json": ("resume",),
              "splits.json": ("report",)},
    "table": {"run.toml": ("report", "resume"), "result.json": ("report", "resume")},
    "select": {"run.toml": ("report", "resume"), "select.json": ("report", "resume"), "result.json": ("resume",)},
    "study": {"run.toml": ("report",), "study.json": ("report",)},
}  # fmt: skip
LINES = {"search": ("trials.jsonl", "timings.jsonl", "metrics.jsonl"), "table": ("trials.jsonl",),
         "train": ("metrics.jsonl", "timings.jsonl")}  # fmt: skip
BAD_LINES = (b"null\n", b"3\n", b"[]\n", b"{}\n", b"{\n", b'{"arch": 3}\n', b'{"arch": [0], "metrics": 3}\n',
             b'{"task": 3, "seconds": "x"}\n', b'{"step": "x"}\n', b"\xff\n", b"[" * 50_000 + b"\n",
             b'{"step": 1' + b"0" * 400 + b', "loss": 1}\n', b'{"task": "x", "seconds": NaN}\n')  # fmt: skip
ON_RUN: dict[str, tuple[str, ...]] = {
    "report": ("report", "run"),
    "export": ("export", "run", "--int8", "no"),
    "finish": ("finish", "run", "model-1", "--steps", "1", "--dry-run", Q),
    "rank": ("rank", "--score", "run", "--truth", "mean_acc", "--space", TINY, "--table", "macro", "--sample", "2",
             "--sample-top", "0", "--top", "1", Q),
    "derive": ("derive", "run", "00000000", "--retrain", "none", "--int8", "no", Q),
    "resume": ("resume", "run", Q),
    "why": ("report", "run", "--why", "model-1"),
    "diagnostics": ("report", "run", "--diagnostics", "model-1"),
    "robustness": ("robustness", "run", "{kept}/train", "-n", "3", Q),
    "start": ("train", TINY, "--start", "run", "--steps", "1", "--limit", "200", "--dry-run", Q),
}  # fmt: skip
BROKEN = ("empty", "a list", "cut in half")  # that are tried with every command; the others with the first


def damaged_runs(kept: Path) -> Iterator[Case]:
    """Files of a run that are cut short, of another type, or lack something."""
    for run, files in RUN_FILES.items():
        for file, commands in files.items():
            toml = file.endswith(".toml")
            contents: dict[str, Callable[[bytes], bytes]] = {n: partial(_put, c) for n, c in DAMAGES.items()}
            contents["cut in half"] = _half
            contents["a list of what is wrong"] = partial(_put, LISTED)
            every = [(c, k) for k in range(len(commands)) for c in contents.items() if not k or c[0] in BROKEN]
            for (name, change), command in [(c, commands[k]) for c, k in every]:
                yield Case("damaged file", ON_RUN[command], partial(_damage, kept, run, file, change),
                           expects=ANSWERED, needs=(run,), name=f"{run}/{file} {name}")  # fmt: skip
            if not (kept / run / file).exists():
                continue
            for key, value in _keys(kept / run / file):
                for new in (None, _other(value)):
                    change, how = partial(_edited, key, new, toml), "missing" if new is None else "other"
                    for command in commands[:1] if file != "run.toml" else commands[:2]:
                        yield Case("damaged file", ON_RUN[command], partial(_damage, kept, run, file, change),
                                   expects=ANSWERED, needs=(run,),
                                   name=f"{run}/{file} {'.'.join(key)} {how}")  # fmt: skip
    for run, files_ in LINES.items():
        for file, (i, line) in product(files_, enumerate(BAD_LINES)):
            yield Case("damaged file", ("report", "run"), partial(_damage, kept, run, file, partial(_put, line)),
                       expects=ANSWERED, needs=(run,), name=f"{run}/{file} line {i}")  # fmt: skip
    for run in ("train", "search", "select", "table"):
        if (kept / run / "run.toml").exists():
            for key, value in _keys(kept / run / "run.toml"):
                if key[0] in ("request", "job", "plan", "space", "load", "recipe", "seed"):
                    change = partial(_edited, key, _other(value), True)
                    yield Case("damaged file", ON_RUN["resume"], partial(_unfinished, kept, run, change),
                               expects=ANSWERED, needs=(run,), name=f"{run} unfinished {'.'.join(key)}")  # fmt: skip


def _remade(kept: Path, key: tuple[str, ...], value: Any, _: Path) -> None:
    """A model whose record was changed by someone who knows how digests are made."""
    from supernetic.exporters.model import _own_digest

    path = take(kept, "search/models/model-1") / "model.json"
    table = json.loads(_edited(key, value, False, path.read_bytes()))
    if isinstance(table.get("sha256"), dict):
        table["sha256"]["model.json"] = _own_digest(table)
    path.write_text(json.dumps(table), encoding="utf-8")


HOSTILE: dict[tuple[str, ...], tuple[Any, ...]] = {
    ("preprocessing", "resolution"): (10**9, 0, -1, 1.5),
    ("preprocessing", "channels"): (2, 10**9, "x"),
    ("preprocessing", "mean"): ([], [float("nan")], "x", [0.1] * 9),
    ("preprocessing", "std"): ([0.0], [], [float("inf")]),
    ("classes",): ([], ["a"] * 10**5, [3, 4], "ab"),
    ("name",): ("../x", "", "a\x1b[31m", 3),
    ("macs",): (-1, "x", 10**400),
    ("metrics",): ({"a": "b"}, [], 3),
    ("blueprint",): ([], [{}], [3], "x"),
    ("blueprint", "0", "kind"): ("bogus", 3),
    ("blueprint", "0", "c_out"): (10**9, -1, 0, "x"),
    ("blueprint", "0", "kernel"): (10**9, 0, -3, "x"),
    ("blueprint", "0", "stride"): (0, -1, 10**9),
    ("blueprint", "0", "resolution_in"): (10**6, -1),
    ("blueprint", "0", "inputs"): ([99], [-99], "x", [0]),
    ("blueprint", "1", "hidden"): (10**9, -1, 0.5),
    ("blueprint", "1", "act"): ("bogus", 3),
    ("settings",): ([], {}, 3),
    ("format",): (2, "x", None),
    ("onnx",): (3, "x"),
    ("int8",): (3, [], {"a": "b"}),
    ("notes",): (3, [3]),
    ("licence",): (3,),
}


def damaged_models(kept: Path) -> Iterator[Case]:
    """Model directories that were changed, with digests that fit and without."""
    if not (kept / "search/models/model-1/model.json").exists():
        return
    for key, values in HOSTILE.items():
        for value in values:
            for command in (("predict", "run", "{kept}/images", "--top", "1"), ("latency", "run", "--batch", "1",
                            "--engine", "eager", "--repeats", "5", Q), ("export", "run", "--int8", "no")):  # fmt: skip
                yield Case("model", command, partial(_remade, kept, key, value), expects=ANSWERED, needs=("search",),
                           name=f"{'.'.join(key)} {str(value)[:20]}")  # fmt: skip
    changes: dict[str, Callable[[bytes], bytes]]
    changes = {"empty": partial(_put, b""), "half": _half, "junk": partial(_put, b"junk")}
    readers: tuple[tuple[str, ...], ...]
    readers = (("predict", "run", "{kept}/images"), ("export", "run"), ("latency", "run", Q))
    for file in ("model.json", "model.safetensors", "model.onnx", "labels.txt"):
        for name, change in changes.items():
            for reader in readers:
                yield Case("model", reader, partial(_damage, kept, "search/models/model-1", file, change),
                           needs=("search",), name=f"{file} {name}")  # fmt: skip
