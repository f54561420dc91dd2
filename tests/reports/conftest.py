"""Run directories made by code, and a browser to look at their reports with.

The runs hold real architectures of NAS-Bench-Macro at their real costs; losses, scores and accuracies are formulas that
look like a training and are good for layouts only.
"""

from __future__ import annotations

import base64
import json
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w

from supernetic import catalog, pareto
from supernetic.costs import costs_of
from supernetic.objective import parse_objective
from supernetic.space import Arch, Space

LIMIT = 1.4e6  # MACs
OBJECTIVES = ("min valid/cross_entropy", "min cost/macs")
NASTY = '<script>alert(1)</script>" onload="x\' & co'
Make = Callable[..., Path]


@pytest.fixture(scope="session")
def space() -> Space:
    return catalog.space("macro:channels=8,resolution=16,head=160")


@pytest.fixture
def make(tmp_path: Path, space: Space) -> Make:
    """Make a run; `until` names the last file that there is."""

    def made(name: str = "run", **settings: Any) -> Path:
        path = tmp_path / name
        path.mkdir()
        write_run(path, space, **settings)
        return path

    return made


def write_run(
    path: Path, space: Space, *, n: int = 400, until: str = "models", seed: int = 0, race: bool = False
) -> None:
    """A search run up to some step: plan, train, search, compare, test, models; with a race if it had a time limit."""
    steps = ("plan", "train", "search", "compare", "test", "models")
    done = steps[: steps.index(until) + 1]
    rng = np.random.default_rng(seed)
    (path / "run.toml").write_text(tomli_w.dumps(_settings(space, seed)))
    images = {"train": 12_000, "valid": 4_000, "test": 2_000}
    (path / "splits.json").write_text(json.dumps({"splits": {k: list(range(v)) for k, v in images.items()}}))
    _lines(path / "timings.jsonl", [{"task": t, "seconds": s} for t, s in (("check", 1.21), ("plan", 6.5))])
    if "train" not in done:
        return
    _lines(path / "metrics.jsonl", _training("supernet", 300 if until == "train" else 2000, rng))
    _lines(path / "timings.jsonl", [{"task": "train", "seconds": 141.2}])
    if "search" not in done:
        return
    trials, search = _search(space, n, rng)
    (path / "supernet.safetensors").touch()
    _lines(path / "trials.jsonl", trials)
    (path / "search.json").write_text(json.dumps(search))
    _lines(path / "timings.jsonl", [{"evaluations": n, "seconds": 50.0}, {"task": "search", "seconds": 58.4}])
    if "compare" not in done:
        return
    networks = _networks(space, search, rng)
    for r in networks:
        directory = path / "networks" / r["key"]
        directory.mkdir(parents=True)
        _lines(directory / "metrics.jsonl", _training("network", 800, rng))
        if "test" in done or r["role"] != "mobilenet":
            (directory / "result.json").write_text(json.dumps({"metrics": r["trained"]}))
    if "test" not in done:  # the list is written when all are trained
        return
    for r in networks:
        r["test"] = {"test/accuracy": r["trained"]["valid/accuracy"] - 0.4 + float(rng.normal(0, 0.2))}
    if race:
        networks = _raced(networks)
    (path / "networks.json").write_text(json.dumps(networks))
    (path / "trust.json").write_text(json.dumps(_trust(networks) | (RACE if race else {})))
    _lines(path / "timings.jsonl", [{"task": "compare", "seconds": 118.0}, {"task": "test", "seconds": 2.6}])
    if "models" in done:
        for r in networks:
            if r["role"] != "chosen":
                continue
            directory = path / "models" / r["name"]
            directory.mkdir(parents=True)
            blueprint = {} if r["arch"] is None else space.blueprint(tuple(r["arch"])).to_json()
            (directory / "model.json").write_text(json.dumps({"blueprint": blueprint}))
            for file in ("model.safetensors", "model.onnx", "README.md", "labels.txt"):
                (directory / file).touch()
        _lines(path / "timings.jsonl", [{"task": "export", "seconds": 9.3}])


def _lines(file: Path, records: Sequence[dict[str, Any]]) -> None:
    with file.open("a") as f:
        f.writelines(json.dumps(r) + "\n" for r in records)


def _settings(space: Space, seed: int) -> dict[str, Any]:
    classes = ["T-shirt", "Trouser", "Pullover", "Dress", NASTY, "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"]
    return {
        "job": "search",
        "seed": seed,
        "threads": 1,
        "workers": 2,
        "objectives": list(OBJECTIVES),
        "where": ["cost/macs<=1.4M"],
        "asked": {"data": "my images/fashion", "where": ["macs<=1.4M"], "minutes": 6.0, "keep": 3, "seed": seed},
        "plan": {"supernet_steps": 2000, "evaluations": 400, "network_steps": 800, "networks": 8,
                 "seconds": {"train": 130.0, "search": 60.0, "compare": 120.0, "export": 10.0}},
        "recipe": {"title": "default", "lr": 0.2, "batch_size": 128},
        "space": {
            "name": space.name,
            "text": "macro:channels=8,resolution=16,head=160",
            "settings": {"channels": 8, "resolution": 16, "head": 160},
            "fingerprint": space.fingerprint,
        },
        "data": {
            "name": "fashion-mnist", "source": NASTY, "licence": "MIT", "resolution": 16, "channels": 1,
            "classes": classes, "images": {"train": 12_000}, "fingerprint": "0123456789abcdef",
        },
        "versions": {"supernetic": "0.2.0", "python": "3.11.7", "numpy": "2.4.6"},
    }  # fmt: skip


def _training(task: str, steps: int, rng: np.random.Generator) -> list[dict[str, Any]]:
    every = 20
    return [
        {"task": task, "step": s, "loss": 0.55 + 1.75 * exp(-s / 350) + float(rng.normal(0, 0.03)), "lr": 0.1}
        for s in range(every, steps + 1, every)
    ]


def _search(space: Space, n: int, rng: np.random.Generator) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    archs = np.unique(space.sample(rng, 3 * n), axis=0)
    macs, params = costs_of(space, archs), costs_of(space, archs, "params")
    fits = np.flatnonzero(macs <= LIMIT)
    fits = fits[rng.permutation(len(fits))][:n]
    quality = np.log(macs[fits] / 4e5) * 0.11 + rng.normal(0, 0.03, len(fits)) + np.linspace(0, 0.05, len(fits))
    trials: list[dict[str, Any]] = []
    for i, row in enumerate(fits.tolist()):
        metrics: dict[str, float] = {"cost/macs": int(macs[row]), "cost/params": int(params[row])}
        if i % 25 == 24:
            trials.append({"arch": archs[row].tolist(), "status": "infeasible", "reason": "x", "metrics": metrics})
            continue
        metrics |= {"valid/cross_entropy": 0.95 - float(quality[i]), "valid/accuracy": 62 + 55 * float(quality[i])}
        trials.append({"arch": archs[row].tolist(), "status": "ok", "metrics": metrics})
    good = [t for t in trials if t["status"] == "ok"]
    points = pareto.points([t["metrics"] for t in good], [parse_objective(o) for o in OBJECTIVES])
    front = sorted((good[i] for i in pareto.front(points)), key=lambda t: t["metrics"]["cost/macs"])
    records = [{"arch": t["arch"], "name": space.name_of(tuple(t["arch"])), "metrics": t["metrics"]} for t in front]
    chosen = pareto.equispaced([t["metrics"]["cost/macs"] for t in front], 3)
    worst = points.max(axis=0)
    generations = [
        {
            "number": k + 1,
            "evaluations": m,
            "front": len(pareto.front(points[:m])),
            "hypervolume": pareto.hypervolume(points[:m], worst),
            "best": float(points[:m, 0].min()),
            "skips": 0.33 - 0.2 * k / 8,
        }
        for k, m in enumerate(range(len(points) // 8, len(points), len(points) // 8))
    ]
    return trials, {
        "space": space.name,
        "objectives": list(OBJECTIVES),
        "where": ["cost/macs<=1.4M"],
        "searcher": {"name": "NSGA2", "population": n // 4},
        "evaluations": len(trials),
        "front": records,
        "chosen": [records[i] for i in chosen],
        "reference": dict(zip((o.split()[1] for o in OBJECTIVES), worst.tolist(), strict=True)),
        "hypervolume": pareto.hypervolume(points, worst),
        "generations": generations,
        "first": n // 4,
    }


def _networks(space: Space, search: dict[str, Any], rng: np.random.Generator) -> list[dict[str, Any]]:
    archs: list[tuple[str, str, str, Arch | None]] = [
        (f"model-{i}", "chosen", r["name"], tuple(r["arch"])) for i, r in enumerate(search["chosen"], 1)
    ]
    drawn = space.sample(rng, 300)
    for i, r in enumerate(search["chosen"], 1):
        near = np.abs(costs_of(space, drawn) - r["metrics"]["cost/macs"]).argsort()[i]
        one = tuple(drawn[near].tolist())
        archs.append((f"random-{i}", "random", space.name_of(one), one))
    archs += [("largest", "largest", "22220200", (2, 2, 2, 2, 0, 2, 0, 0))]
    archs += [("mobilenetv2", "mobilenet", "MobileNetV2", None)]
    networks = []
    for i, (name, role, label, arch) in enumerate(archs):
        row = np.array([arch or ()], dtype=np.int8)
        macs = int(costs_of(space, row)[0]) if arch else 1_290_000
        params = int(costs_of(space, row, "params")[0]) if arch else 61_000
        found = next((r["metrics"] for r in search["chosen"] if tuple(r["arch"]) == arch), None)
        quality = 0.95 - found["valid/cross_entropy"] if found else log(macs / 4e5) * 0.11 + float(rng.normal(0, 0.05))
        score = {"valid/cross_entropy": 0.95 - quality, "valid/accuracy": 62 + 55 * quality} if arch else None
        trained = {"valid/accuracy": 84 + 12 * quality + float(rng.normal(0, 0.3)), "valid/cross_entropy": 0.4}
        record: dict[str, Any] = {
            "name": name, "role": role, "key": f"key{i}", "label": label, "arch": list(arch) if arch else None,
            "against": "" if role == "chosen" else f"model-{i - 2}" if role == "random" else "model-3",
            "macs": macs, "params": params, "score": score, "trained": trained,
        }  # fmt: skip
        if role == "chosen":
            record["fold"] = {
                "removals": [{"layer": "layer3", "how": "forward", "condition": None}],
                "deviation": 2.1e-6, "relative": 4.5e-7, "exact": True,
            }  # fmt: skip
        networks.append(record)
    return networks


RACE = {"rounds": 3, "steps_per_epoch": 93.75, "test_images": 2000}


def _raced(networks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The dearest network has won and was trained to the end; the cheapest is handed over; the middle one has lost."""
    cheap, lost, best, *controls = networks
    best |= {"name": "model-1", "recommended": True, "key": "key2", "first_key": "key3", "steps": 12_340}
    best |= {"first": {"valid/accuracy": 81.5}, "first_test": {"test/accuracy": 80.25}}
    best |= {"trained": {"valid/accuracy": 90.5}, "test": {"test/accuracy": 90.0}}
    best |= {"latency": {"latency/ms": 0.4123, "low": 0.4, "high": 0.5, "engine": "onnx"}}
    cheap |= {"name": "model-2", "steps": 1200, "latency": {"latency/ms": 0.2, "engine": "onnx"}}
    lost |= {"name": "candidate-2", "role": "candidate", "steps": 1140, "fold": None}
    plain = {"name": "plain", "role": "plain", "label": "plain stack of 3x3 convolutions", "key": "key9"}
    for control in (added := {**controls[-1], **plain}, *controls):
        control |= {"against": "model-1", "steps": 3400}
    return [best, cheap, lost, added, *controls]


def _trust(networks: list[dict[str, Any]]) -> dict[str, Any]:
    comparisons = []
    for m in networks[:3]:
        for c in networks[3:]:
            if c["against"] != m["name"]:
                continue
            difference = m.get("first_test", m["test"])["test/accuracy"] - c["test"]["test/accuracy"]
            low, high = difference - 0.9, difference + 0.9
            alike = {"steps": [1140, 3400], "epochs": [12.16, 36.27], "seconds": 20.0} if "first_test" in m else {}
            comparisons.append(
                {"model": m["name"], "control": c["name"], "role": c["role"], "difference": difference,
                 "low": low, "high": high, "significant": not low <= 0 <= high, **alike}
            )  # fmt: skip
    tau = {
        "value": 0.52,
        "low": -0.05,
        "high": 0.86,
        "n": 7,
        "score": "valid/cross_entropy",
        "truth": "valid/accuracy after training",
    }
    return {
        "tau": {**tau, "significant": False},
        "comparisons": comparisons,
        "beaten": sum(c["low"] > 0 for c in comparisons),
        "of": len(comparisons),
        "table": None,
    }


# --- the browser ------------------------------------------------------------------------------------------------------


class Browser:
    """Chromium without a window, driven by the WebDriver protocol over plain HTTP."""

    def __init__(self, directory: Path) -> None:
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        self.base = f"http://127.0.0.1:{port}"
        self.driver = subprocess.Popen(
            ["chromedriver", f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        flags = "headless no-sandbox disable-gpu disable-quic no-first-run disable-background-networking"
        flags += " disable-component-update disable-sync hide-scrollbars"
        options = {
            "args": [*(f"--{f}" for f in flags.split()), f"--user-data-dir={directory}", "--window-size=1100,900"],
            "binary": shutil.which("chromium"),
        }
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
        try:
            self._wait()
            made = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        except BaseException:
            self.driver.kill()
            self.driver.wait()
            raise
        self.base += f"/session/{made['sessionId']}"

    def close(self) -> None:
        try:
            self._ask("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait()

    def _wait(self) -> None:
        for _ in range(200):
            try:
                if self._ask("GET", "/status")["ready"]:
                    return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError("chromedriver does not answer")

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read())["value"]

    def command(self, name: str, **parameters: Any) -> Any:
        """A command of the DevTools protocol."""
        return self._ask("POST", "/goog/cdp/execute", {"cmd": name, "params": parameters})

    def open(self, page: Path, *, width: int = 1100, dark: bool = False) -> None:
        self.visit(page.resolve().as_uri(), width=width, dark=dark)

    def visit(self, address: str, *, width: int = 1100, dark: bool = False) -> None:
        self._ask("POST", "/url", {"url": "about:blank"})
        for kind in ("browser", "performance"):  # reading a log empties it
            self.log(kind)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.command("Emulation.setEmulatedMedia", features=[scheme])
        self._size(width, 900)
        self._ask("POST", "/url", {"url": address})

    def _size(self, width: int, height: int) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.command("Emulation.setDeviceMetricsOverride", **size)

    def log(self, kind: str) -> list[dict[str, Any]]:
        entries: list[dict[str, Any]] = self._ask("POST", "/se/log", {"type": kind})
        return entries

    def requests(self) -> list[str]:
        """Addresses that were asked for since the page was opened."""
        events = [json.loads(e["message"])["message"] for e in self.log("performance")]
        return [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]

    def run(self, script: str) -> Any:
        return self._ask("POST", "/execute/sync", {"script": script, "args": []})

    def _actions(self, kind: str, actions: list[dict[str, Any]]) -> None:
        self._ask("POST", "/actions", {"actions": [{"type": kind, "id": kind, "actions": actions}]})

    def point(self, x: float, y: float, *, click: bool = False) -> None:
        """Move the pointer to a place of the window, and click there."""
        moves: list[dict[str, Any]] = [{"type": "pointerMove", "x": round(x), "y": round(y), "duration": 0}]
        if click:
            moves += [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        self._actions("pointer", moves)

    def press(self, key: str) -> None:
        self._actions("key", [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}])

    def picture(self, file: Path) -> None:
        """The whole page as an image."""
        height = self.run("return document.documentElement.scrollHeight")
        width = self.run("return innerWidth")
        self.command(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )
        file.write_bytes(base64.b64decode(self._ask("GET", "/screenshot")))

    def pdf(self) -> bytes:
        return base64.b64decode(self._ask("POST", "/print", {}))


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        pytest.skip("needs Debian's chromium and chromium-driver")
    browser = Browser(tmp_path_factory.mktemp("browser"))
    yield browser
    browser.close()
