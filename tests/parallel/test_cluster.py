from __future__ import annotations

import datetime
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("distributed", reason="the extra `cluster` is not installed")

from supernetic.errors import InputError, SupernetError, UnknownNameError
from supernetic.parallel import workers
from supernetic.parallel.cluster import Cluster, cluster, is_loopback
from supernetic.parallel.workers import cluster_size, map_in_workers, on_cluster

Nodes = Any  # of conftest.py


# Functions inside functions are sent to workers by value: they cannot import this file.
def square() -> Callable[..., Any]:
    def work(item: int, report: Any) -> Any:
        import os
        import time

        time.sleep(0.2)
        report(1, 2)
        report(2, 2)
        return item**2, os.getpid()

    return work


def once(folder: Path, deed: str) -> Callable[..., Any]:
    """Item 1 does something terrible the first time; all note that they ran."""

    def work(item: int, report: Any) -> int:
        import os
        import time
        from pathlib import Path

        first = not (Path(folder) / f"{item}-0").exists()
        (Path(folder) / f"{item}-{len(list(Path(folder).glob(f'{item}-*')))}").write_text(str(os.getppid()))
        if item == 1 and (first or deed.endswith("always")):
            if deed.startswith("die"):
                os.kill(os.getpid(), 9)
            if deed.startswith("kill worker"):
                os.kill(os.getppid(), 9)
            if deed.startswith("hang"):
                time.sleep(300)
        time.sleep(0.1)
        return item * 10

    return work


def slow(folder: Path, seconds: float = 1.5) -> Callable[..., Any]:
    def work(item: int, report: Any) -> int:
        import os
        import time
        from pathlib import Path

        (Path(folder) / f"{item}-{os.getpid()}").write_text(str(os.getppid()))
        time.sleep(seconds)
        return item * 10

    return work


def wait_for(condition: Callable[[], Any], seconds: float = 60) -> Any:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if found := condition():
            return found
        time.sleep(0.05)
    raise AssertionError("it did not happen in time")


@pytest.fixture(scope="module")
def two() -> Iterator[Cluster]:
    """A cluster of two workers on this machine."""
    with cluster("local:2", patience=3) as opened:
        workers._cluster.set(None)  # only the tests that want it
        yield opened


@pytest.fixture
def on_two(two: Cluster) -> Iterator[Cluster]:
    with workers.install_cluster(two):
        yield two


@pytest.mark.usefixtures("on_two")
def test_answers_come_in_order_from_several_processes() -> None:
    seen: list[tuple[int, int, int]] = []
    answers = map_in_workers(square(), range(5), 1, lambda *at: seen.append(at))
    assert [a for a, _ in answers] == [0, 1, 4, 9, 16]
    assert len({pid for _, pid in answers}) == 2
    assert os.getpid() not in {pid for _, pid in answers}
    assert {(i, 2, 2) for i in range(5)} <= set(seen)
    assert map_in_workers(square(), [], 1) == []
    assert cluster_size() == 2


def test_without_a_cluster_nothing_changes() -> None:
    assert not on_cluster()
    assert cluster_size() is None
    assert map_in_workers(square(), [3], 2) == [(9, os.getpid())]


@pytest.mark.usefixtures("on_two")
def test_errors_of_a_piece_name_the_worker_and_withdraw_the_others(tmp_path: Path) -> None:
    def work(item: int, report: Any) -> None:
        from supernetic.errors import DataError

        if item == 1:
            raise DataError("photos/ does not exist")
        time.sleep(120)

    began = time.monotonic()
    with pytest.raises(InputError, match=r"on the worker tcp://127.0.0.1:\d+: photos/ does not exist"):
        map_in_workers(work, [1, 2, 3], 1)
    assert [a for a, _ in map_in_workers(square(), range(2), 1)] == [0, 1]  # workers are free again
    assert time.monotonic() - began < 60


@pytest.mark.usefixtures("on_two")
def test_what_is_no_plain_data_cannot_be_an_answer() -> None:
    def work(item: int, report: Any) -> Any:
        return {item}

    with pytest.raises(SupernetError, match="answers with plain data, got set"):
        map_in_workers(work, [1], 1)


@pytest.mark.usefixtures("on_two")
@pytest.mark.parametrize("deed", ["die", "hang"])
def test_a_piece_that_dies_or_hangs_is_tried_elsewhere(tmp_path: Path, deed: str) -> None:
    assert map_in_workers(once(tmp_path, deed), range(4), 1) == [0, 10, 20, 30]
    workers = [(tmp_path / f"1-{n}").read_text() for n in range(2)]
    assert workers[0] != workers[1]
    assert len(list(tmp_path.glob("*-*"))) == 5


@pytest.mark.usefixtures("on_two")
def test_a_piece_that_always_dies_is_given_up_and_named(tmp_path: Path) -> None:
    given_up = map_in_workers(once(tmp_path, "die always"), range(4), 1, given_up=lambda n, reason: reason)
    assert [a for a in given_up if isinstance(a, int)] == [0, 20, 30]
    assert "signal 9 (SIGKILL)" in str(given_up[1])
    assert "(3 tries)" in str(given_up[1])
    with pytest.raises(SupernetError, match="piece 2 of 4 was given up: a worker process was ended by signal 9"):
        map_in_workers(once(tmp_path, "die always"), range(4), 1)


@pytest.mark.usefixtures("on_two")
def test_a_worker_killed_in_the_middle_costs_no_piece(tmp_path: Path) -> None:
    def kill() -> None:
        victim = wait_for(lambda: list(tmp_path.glob("1-*")) and next(tmp_path.glob("1-*")).read_text())
        os.kill(int(victim), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    assert map_in_workers(slow(tmp_path), range(4), 1) == [0, 10, 20, 30]
    killer.join()
    assert len(list(tmp_path.glob("1-*"))) == 2  # once more, by another process


@pytest.mark.slow
@pytest.mark.usefixtures("on_two")
def test_a_piece_that_kills_every_worker_is_given_up(tmp_path: Path) -> None:
    answers = map_in_workers(
        once(tmp_path, "kill worker always"), range(6), 1, given_up=lambda n, reason: f"{n}: {reason}"
    )
    assert answers[0] == 0
    assert answers[2:] == [20, 30, 40, 50]
    assert str(answers[1]).startswith("1: every worker that had it was lost")


def test_data_are_shared_by_their_digest(on_two: Cluster) -> None:
    data = os.urandom(1000)
    digest = on_two.share(data)
    assert on_two.share(data) == digest

    def work(item: str, report: Any) -> bytes:
        from supernetic.parallel.piece import read_shared

        return read_shared(item)

    assert map_in_workers(work, [digest] * 3, 1) == [data] * 3


# --- nodes that come and go -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_node_is_killed_and_another_joins(nodes: Callable[[], Nodes], tmp_path: Path) -> None:
    there = nodes()
    first = there.node(2)
    sizes = set()
    with cluster(there.address) as opened:
        digest = opened.share(b"weights")

        def work(item: int, report: Any) -> Any:
            import os
            import time
            from pathlib import Path

            from supernetic.parallel.piece import read_shared

            (Path(tmp_path) / f"began-{item}-{os.getpid()}").touch()
            time.sleep(1)
            return item, read_shared(digest)

        def replace() -> None:
            wait_for(lambda: list(tmp_path.glob("began-*")))
            there.node(1)
            wait_for(lambda: cluster_now(there) == 3)
            there.kill(first)

        changing = threading.Thread(target=replace)
        changing.start()

        def watch(*_: int) -> None:
            sizes.add(opened.size)

        answers = map_in_workers(work, range(24), 1, watch)
        changing.join()
        assert answers == [[n, b"weights"] for n in range(24)]
        wait_for(lambda: opened.size == 1)
    assert len(list(tmp_path.glob("began-*"))) > 24  # some were begun on the node that was lost


def cluster_now(there: Nodes) -> int:
    from distributed import Client

    with Client(there.address, set_as_default=False, timeout=5) as client:
        return len(client.nthreads())


@pytest.mark.slow
def test_a_scheduler_that_is_killed_ends_the_job_with_one_line(nodes: Callable[[], Nodes], tmp_path: Path) -> None:
    there = nodes()
    there.node(1)

    def kill() -> None:
        wait_for(lambda: list(tmp_path.glob("0-*")))
        there.kill(there.scheduler)

    killer = threading.Thread(target=kill)
    killer.start()
    message = r"the scheduler of tcp://.* is gone: run the same command again to resume"
    with pytest.raises(SupernetError, match=message), cluster(there.address):
        map_in_workers(slow(tmp_path, 30), range(2), 1)
    killer.join()


@pytest.mark.slow
def test_a_worker_of_another_version_is_refused(nodes: Callable[[], Nodes], tmp_path: Path) -> None:
    old = tmp_path / "old.py"
    old.write_text("import supernetic\nsupernetic.__version__ = '0.0.1'\n")
    there = nodes()
    refused = there.node(1, "--preload", str(old))
    message = r"the worker tcp://\S+ has supernetic 0.0.1, this job has .* same version"
    with pytest.raises(InputError, match=message), cluster(there.address):
        pass
    there.kill(refused)
    there.node(1)
    wait_for(lambda: cluster_now(there) == 1)
    with cluster(there.address) as opened:
        there.node(1, "--preload", str(old))  # it joins later
        wait_for(lambda: "this worker is refused" in there.logs())
        wait_for(lambda: opened.size == 1)
        assert [a for a, _ in map_in_workers(square(), range(3), 1)] == [0, 1, 4]


# --- where it may be --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "settings", "message"),
    [
        ("tcp://192.0.2.1:8786", {}, r"not on this machine, .*--cluster-tls DIR.*--insecure"),
        ("tcp://127.0.0.1", {}, "a cluster is tcp://HOST:PORT"),
        ("tcp://127.0.0.1:eight", {}, "a cluster is tcp://HOST:PORT"),
        ("somewhere", {}, "got 'somewhere'"),
        ("tls://192.0.2.1:8786", {}, "needs certificates: give --cluster-tls DIR"),
        ("tls://192.0.2.1:8786", {"tls": "nowhere"}, "holds ca.pem, cert.pem, key.pem: nowhere/ca.pem does not exist"),
        ("local:none", {}, "local:WORKERS, such as local:4, got 'local:none'"),
        ("local:0", {}, "got 'local:0'"),
        ("local:1", {"insecure": True}, "on loopback"),
        ("local:1", {"patience": 0}, "patience must be more than 0 seconds, got 0"),
        ("missing.toml", {}, "missing.toml cannot be read"),
    ],
)
def test_addresses_that_are_refused(where: str, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message), cluster(where, **settings):
        pass


def test_no_scheduler_answers() -> None:
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("supernetic.parallel.cluster.CONNECT_S", 1.0)
        with pytest.raises(SupernetError, match="no scheduler of Dask answers"), cluster(f"tcp://127.0.0.1:{port}"):
            pass


def test_what_is_loopback() -> None:
    assert is_loopback("127.0.0.1")
    assert is_loopback("localhost")
    assert not is_loopback("192.0.2.1")
    with pytest.raises(InputError, match="is not known"):
        is_loopback("no-such-host.invalid")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind = 'slurm'\njobs = 2\ncolour = 1", "unknown setting of .* 'colour'"),
        ("kind = 'slrum'\njobs = 2", "did you mean 'slurm'"),
        ("kind = 'slurm'\njobs = 0", "jobs must be a number"),
        ("kind = 'slurm'\njobs = [1, 2, 3]", "jobs must be a number"),
        ("kind = 'slurm'\njobs = 1\noptions = 3", "options must be a table"),
        ("kind = 'slurm'\njobs = 1\npatience = -1", "patience must be more than 0"),
        ("kind = ", "cannot be read"),
        ("kind = 'slurm'\njobs = 1", "come over the network: give --cluster-tls DIR, or --insecure"),
    ],
)
def test_files_that_are_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "jobs.toml").write_text(text)
    with pytest.raises(InputError, match=message), cluster(str(tmp_path / "jobs.toml")):
        pass


def test_unknown_names_have_their_own_error(tmp_path: Path) -> None:
    (tmp_path / "jobs.toml").write_text("kind = 'x'\njobs = 1")
    with pytest.raises(UnknownNameError), cluster(str(tmp_path / "jobs.toml")):
        pass


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of dask-jobqueue
def test_workers_may_be_jobs_of_a_queue(tmp_path: Path) -> None:
    pytest.importorskip("dask_jobqueue", reason="the extra `cluster` is not installed")
    (tmp_path / "jobs.toml").write_text(
        "kind = 'local'\njobs = 1\n[options]\nmemory = '1GB'\ninterface = 'lo'\n"
        f"local_directory = '{tmp_path}'\nlog_directory = '{tmp_path}'\n"
    )
    with cluster(str(tmp_path / "jobs.toml"), insecure=True):
        assert [a for a, _ in map_in_workers(square(), range(3), 1)] == [0, 1, 4]


def certificates(folder: Path) -> Path:
    """An authority and one certificate for all, as a site might make them."""
    x509 = pytest.importorskip("cryptography.x509", reason="cryptography is not installed")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    folder.mkdir()
    now = datetime.datetime.now(datetime.UTC)
    own, theirs = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))

    def name(text: str) -> Any:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    def certificate(subject: str, key: Any, *, authority: bool) -> bytes:
        made = (
            x509.CertificateBuilder()
            .subject_name(name(subject))
            .issuer_name(name("authority"))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        )
        signed: bytes = made.sign(own, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        return signed

    (folder / "ca.pem").write_bytes(certificate("authority", own, authority=True))
    (folder / "cert.pem").write_bytes(certificate("node", theirs, authority=False))
    plain = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / "key.pem").write_bytes(theirs.private_bytes(*plain))
    return folder


@pytest.mark.slow
def test_a_cluster_with_tls(nodes: Callable[..., Nodes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tls = certificates(tmp_path / "tls")
    there = nodes(tls)
    there.node(1)
    assert there.address.startswith("tls://127.0.0.1")
    with cluster(there.address, tls=tls):
        assert [a for a, _ in map_in_workers(square(), range(3), 1)] == [0, 1, 4]
    monkeypatch.setattr("supernetic.parallel.cluster.CONNECT_S", 3.0)
    strangers = certificates(tmp_path / "strangers")
    with pytest.raises(SupernetError, match="no scheduler of Dask answers"), cluster(there.address, tls=strangers):
        pass
    plain = there.address.replace("tls://", "tcp://")
    with pytest.raises(SupernetError, match="no scheduler of Dask answers"), cluster(plain):
        pass
