from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from supernetic.cli import main
from supernetic.commands.derive import derive
from supernetic.jobs.train.job import train
from supernetic.parallel.world import launched, local_size, together, world_size

SPACE, ARCH = "macro:channels=4,resolution=8,head=16", "00000000"
STEPS = 40
LONG = ["train", SPACE, "embedded", "--limit", "300", "--steps", str(STEPS), "--threads", "1", "--quiet"]
FEW = [
    "embedded", "--space", SPACE, "--limit", "300", "--steps", "20", "--network-steps", "6", "--population", "4",
    "--generations", "2", "--threads", "1", "--workers", "1", "--quiet",
]  # fmt: skip
JOBS = {
    "search": ["search", *FEW, "--keep", "1", "--augment", "none", "--int8", "no"],
    "scale": ["scale", *FEW, "--stages", "1", "--extrapolate", "0", "--bases", "1", "--rounds", "1", "--order", "3"],
}
Node = subprocess.Popen[str]


def test_without_a_launcher_there_is_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANK", raising=False)
    assert not launched()
    assert world_size() == 1
    assert local_size(4) == 4
    assert together(lambda: iter(()), 2, ()) is None
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert not launched()


def test_commands_that_train_nothing_together_are_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(SystemExit) as leaving:
        main(["study", "any.toml"])
    assert leaving.value.code == 2
    assert capsys.readouterr().err.startswith("supernetic: torchrun is for train, derive, search, scale, resume")


# --- two nodes --------------------------------------------------------------------------------------------------------


class Launcher:
    """Two nodes of one process each."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.started = folder, list[Node]()

    def start(self, command: list[str], addresses: tuple[str, str], inside: tuple[list[str], list[str]]) -> list[Node]:
        port = free_port()
        found = []
        for number, (address, before) in enumerate(zip(addresses, inside, strict=True)):
            torchrun = [
                *before, sys.executable, "-m", "torch.distributed.run", "--nnodes", "2", "--nproc-per-node", "1",
                "--rdzv-backend", "c10d", "--rdzv-endpoint", f"{addresses[0]}:{port}", "--rdzv-id", str(port),
                "--rdzv-conf", f"is_host={int(number == 0)}", "--local-addr", address, "--max-restarts", "3",
                "-m", "supernetic", *command,
            ]  # fmt: skip
            interface = "lo" if address == "127.0.0.1" else f"supernetic{number}"
            environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": interface}
            with open(self.folder / f"node-{number}.log", "w") as log:
                found.append(
                    subprocess.Popen(torchrun, stdout=log, stderr=log, env=environment, process_group=0, text=True)
                )
        self.started += found
        return found

    def finish(self, nodes: list[Node], seconds: float = 300) -> None:
        until = time.monotonic() + seconds
        while any(node.poll() is None for node in nodes) and time.monotonic() < until:
            time.sleep(0.1)
        logs = "\n".join(file.read_text() for file in sorted(self.folder.glob("node-*.log")))
        assert [node.poll() for node in nodes] == [0, 0], logs

    def run(self, *command: str, addresses: tuple[str, str] = ("127.0.0.1", "127.0.0.1")) -> None:
        self.finish(self.start(list(command), addresses, ([], [])))

    def end(self) -> None:
        for node in self.started:
            with suppress(ProcessLookupError):
                os.killpg(node.pid, signal.SIGKILL)
            for child in children(node.pid):
                with suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
            node.wait()


@pytest.fixture
def launcher(tmp_path: Path) -> Iterator[Launcher]:
    made = Launcher(tmp_path)
    yield made
    made.end()


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def children(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in listed.read_text().split()] if listed.exists() else []


def weights(run: Path) -> bytes:
    return (run / "supernet.safetensors").read_bytes()


def networks(run: Path) -> dict[str, bytes]:
    return {str(file.relative_to(run)): file.read_bytes() for file in run.glob("networks/*/*.safetensors")}


@pytest.mark.slow
def test_two_nodes_train_as_two_processes_do_and_after_a_kill_too(launcher: Launcher, tmp_path: Path) -> None:
    train(SPACE, limit=300, steps=STEPS, threads=1, processes=2, out=tmp_path / "processes")
    nodes = launcher.start([*LONG, "--out", str(tmp_path / "run")], ("127.0.0.1", "127.0.0.1"), ([], []))
    until = time.monotonic() + 200
    while not list(tmp_path.glob("run/checkpoints/*")) and time.monotonic() < until:
        time.sleep(0.02)
    (victim,) = children(nodes[1].pid)
    os.kill(victim, signal.SIGKILL)
    launcher.finish(nodes)
    assert weights(tmp_path / "run") == weights(tmp_path / "processes")
    # the same for a finished network: trained by both nodes, in the run of the supernet
    shutil.copytree(tmp_path / "run", tmp_path / "again")
    recipe = tmp_path / "recipe.toml"
    recipe.write_text('title = "short"\nsource = "ours"\nlength = "6 steps"\nbatch_size = 16\nlr = 0.05\n')
    given = ["--retrain", "scratch", "--recipe", str(recipe), "--quiet"]
    launcher.run("derive", str(tmp_path / "again"), ARCH, *given)
    (trained,) = (tmp_path / "again").glob("networks/*/run.toml")
    assert "processes = 2" in trained.read_text()
    alone = derive(tmp_path / "run", ARCH, retrain="scratch", recipe=recipe)
    assert alone is not None
    (single,) = (tmp_path / "run").glob("networks/*/run.toml")
    assert "processes" not in single.read_text()


@pytest.mark.slow
@pytest.mark.parametrize("job", JOBS)
def test_a_whole_job_and_one_with_a_kill_end_with_the_same_networks(
    job: str, launcher: Launcher, tmp_path: Path
) -> None:
    """The supernet and each finished network are trained by both nodes; one process of a node dies on the way."""
    launcher.run(*JOBS[job], "--out", str(tmp_path / "whole"))
    nodes = launcher.start([*JOBS[job], "--out", str(tmp_path / "killed")], ("127.0.0.1", "127.0.0.1"), ([], []))
    until = time.monotonic() + 200
    while not list(tmp_path.glob("killed/networks/*/*.safetensors")) and time.monotonic() < until:
        time.sleep(0.02)
    (victim,) = children(nodes[1].pid)
    os.kill(victim, signal.SIGKILL)
    launcher.finish(nodes)
    found = [networks(tmp_path / run) for run in ("whole", "killed")]
    assert found[0] == found[1] != {}
    assert weights(tmp_path / "whole") == weights(tmp_path / "killed")
    for trained in tmp_path.glob("*/networks/*/run.toml"):
        assert "processes = 2" in trained.read_text()


@pytest.fixture
def namespaces() -> Iterator[tuple[list[str], list[str]]]:
    """Two network namespaces that are joined by a cable, where this user may make them."""
    names = [f"supernetic-test-{os.getpid()}-{number}" for number in range(2)]
    if shutil.which("ip") is None or subprocess.run(["ip", "netns", "add", names[0]], capture_output=True).returncode:
        pytest.skip("network namespaces cannot be made here: `ip netns add` needs root")
    try:
        subprocess.run(["ip", "netns", "add", names[1]], check=True)
        cable = ["ip", "link", "add", "supernetic0", "netns", names[0], "type", "veth"]
        if subprocess.run([*cable, "peer", "name", "supernetic1", "netns", names[1]], capture_output=True).returncode:
            pytest.skip("network namespaces cannot be joined here: veth is not available")
        for number, name in enumerate(names):
            inside = ["ip", "-n", name]
            subprocess.run(
                [*inside, "addr", "add", f"10.99.0.{number + 1}/24", "dev", f"supernetic{number}"], check=True
            )
            for device in ("lo", f"supernetic{number}"):
                subprocess.run([*inside, "link", "set", device, "up"], check=True)
        first, second = (["ip", "netns", "exec", name] for name in names)
        yield first, second
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True)


@pytest.mark.slow
def test_two_nodes_in_networks_of_their_own(
    launcher: Launcher, namespaces: tuple[list[str], list[str]], tmp_path: Path
) -> None:
    train(SPACE, limit=300, steps=STEPS, threads=1, processes=2, out=tmp_path / "processes")
    command = [*LONG, "--out", str(tmp_path / "run")]
    launcher.finish(launcher.start(command, ("10.99.0.1", "10.99.0.2"), namespaces))
    assert weights(tmp_path / "run") == weights(tmp_path / "processes")
