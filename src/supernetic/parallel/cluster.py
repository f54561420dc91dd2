"""Independent pieces of work on a Dask cluster: the engine that stands in for worker processes of this machine.

    with supernetic.cluster("tcp://127.0.0.1:8786"):
        supernetic.search("photos/", minutes=60)

Within the block, everything that `map_in_workers` would spread over processes goes to the cluster. Results do not
depend on it: answers are taken in the order of asking, and a piece that is done twice, because its worker was lost,
gives the same bytes. Workers may join and leave at any time.

What may go wrong, and what follows:

- A worker or a whole node is gone: Dask gives its pieces to others.
- A piece ends its process, or hangs: it is tried elsewhere, `TRIES` times in all, and then given up.
- The scheduler is gone: the job ends with one line, and can be resumed.
- A worker has other versions of the software: it is refused.
"""

from __future__ import annotations

import logging
import os
import queue
import socket
import subprocess
import sys
import tomllib
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from ipaddress import ip_address
from pathlib import Path
from secrets import token_hex
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

import cloudpickle

from ..errors import InputError, SupernetError, UnknownNameError
from .failure import Cause
from .piece import WITHDRAWN, digest_of, do_piece, failure_from, keep_shared, shared_folder
from .plain import decode
from .workers import install_cluster

TRIES = 3  # of a piece that ends its process or hangs
PATIENCE_S = 1800.0  # without a sign of life from a piece, or without any worker
CONNECT_S = 20.0  # to reach the scheduler, at first and after it was lost
FIRST_WORKER_S = 60.0  # until the first worker of a cluster that runs already
LOOK_INTERVAL_S = 2.0  # between two looks at how many workers there are
LEAST_AHEAD = 2  # pieces that wait at the scheduler beside those at work, so that no worker waits for the job
LOCAL = "local:"
TLS_FILES = {"ca": "ca.pem", "cert": "cert.pem", "key": "key.pem"}  # in the folder of `--cluster-tls`
QUEUES = {  # of dask-jobqueue, by the `kind` of a file
    "slurm": "SLURMCluster", "pbs": "PBSCluster", "sge": "SGECluster", "lsf": "LSFCluster", "oar": "OARCluster",
    "htcondor": "HTCondorCluster", "moab": "MoabCluster", "local": "LocalCluster",
}  # fmt: skip
FILE_SETTINGS = ("kind", "jobs", "patience", "options")
QUIET_PORT = "127.0.0.1:0"  # of pages about the scheduler, which nobody is told of
INSTALL = "install supernetic[cluster], here and on the workers"


@contextmanager
def cluster(
    where: str, *, tls: str | Path | None = None, insecure: bool = False, patience: float | None = None
) -> Iterator[Cluster]:
    """Within, independent pieces of work run on a Dask cluster.

    Dask runs what it is sent. So a cluster that others could reach needs TLS, by which scheduler, workers and jobs know
    one another, or the word that this is not wanted.

    Args:
        where: The scheduler, `tcp://host:8786` or `tls://host:8786`; `local:4` for four workers on this machine; or a
            TOML file that describes jobs of a queue such as SLURM's (docs/scale-out.md).
        tls: A folder with `ca.pem`, `cert.pem` and `key.pem`.
        insecure: Allow a cluster without TLS that is not on loopback.
        patience: Seconds without a sign of life after which a piece counts as hanging; half an hour by default.

    Yields:
        The cluster.
    """
    if patience is not None and not patience > 0:
        raise InputError(f"patience must be more than 0 seconds, got {patience:g}")
    try:
        import distributed
    except ImportError:
        raise InputError(f"a cluster needs Dask: {INSTALL}") from None
    with ExitStack() as stack:
        security = _security(tls)
        if where.startswith(LOCAL):
            if tls is not None or insecure:
                raise InputError(f"{where} is on loopback: it takes neither TLS nor --insecure")
            address: Any = stack.enter_context(_local_cluster(_count(where)))
            first = FIRST_WORKER_S
        elif where.endswith(".toml"):
            described = _read_file(Path(where))
            if security is None and not insecure:
                raise InputError(f"workers of {where} come over the network: give --cluster-tls DIR, or --insecure")
            address = stack.enter_context(_queue_cluster(where, described, security))
            patience = patience if patience is not None else described.get("patience")
            first = PATIENCE_S  # jobs wait in their queue
        else:
            address, first = _checked_address(where, security is not None, insecure), FIRST_WORKER_S
        _quieten()
        try:
            client = stack.enter_context(
                distributed.Client(address, security=security, timeout=CONNECT_S, set_as_default=False)
            )
        except (OSError, TimeoutError, ValueError) as error:
            reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
            raise SupernetError(f"no scheduler of Dask answers at {where}: {reason}") from None
        opened = Cluster(client, where, patience or PATIENCE_S)
        stack.callback(opened.close)
        opened.open(first)
        with install_cluster(opened):
            yield opened


class Cluster:
    """A connection to a Dask cluster.

    Args:
        client: Dask's.
        where: As the user named it.
        patience: Seconds without a sign of life after which a piece counts as hanging.
        in_child: Whether workers do pieces in processes of their own; simulations do without.
    """

    def __init__(self, client: Any, where: str, patience: float = PATIENCE_S, *, in_child: bool = True) -> None:
        self.client, self.where, self.patience, self.in_child = client, where, patience, in_child
        self.slots: dict[str, int] = {}  # pieces at a time, by worker
        self._looked = -LOOK_INTERVAL_S
        self._plugins: list[str] = []

    @property
    def size(self) -> int:
        """Pieces that can be worked on at a time, now."""
        if monotonic() - self._looked > LOOK_INTERVAL_S:
            with suppress(Exception):  # the scheduler may be gone, which is noticed by what it was to do
                self.slots = self.client.nthreads()
            self._looked = monotonic()
        return sum(self.slots.values())

    def open(self, first: float = FIRST_WORKER_S) -> None:
        """Wait for a worker, and refuse those that have other versions, now and later."""
        try:
            self.client.wait_for_workers(1, timeout=first)
        except TimeoutError:
            raise SupernetError(f"no worker has come to {self.where} within {first:g} s") from None
        expected = _versions()
        theirs = self.client.run(_asks_versions())
        for address, versions in sorted(theirs.items()):
            for name, ours in expected.items():
                if versions[name] != ours:
                    has = f"has {name} {versions[name] or 'not installed'}"
                    raise InputError(f"the worker {address} {has}, this job has {ours}: {INSTALL}, in the same version")
        self._register(_guard(expected), f"supernetic-versions-{token_hex(4)}")

    def close(self) -> None:
        """Take back what was left with the workers."""
        for name in self._plugins:
            with suppress(Exception):
                self.client.unregister_worker_plugin(name)

    def share(self, data: bytes) -> str:
        """Send data to every worker once, to those that join later too.

        Args:
            data: The data.

        Returns:
            Their digest, by which `piece.read_shared` reads them there.
        """
        digest = digest_of(data)
        name = f"supernetic-{digest}"
        if name not in self._plugins:
            self._register(_shared_file(digest, data), name)
        return digest

    def _register(self, plugin: Any, name: str) -> None:
        self.client.register_plugin(plugin, name=name)
        self._plugins.append(name)

    def map(
        self,
        work: Callable[..., Any],
        items: Sequence[Any],
        progress: Callable[[int, int, int], None] | None = None,
        given_up: Callable[[int, str], Any] | None = None,
        arrived: Callable[[int, Any], Any] | None = None,
    ) -> list[Any]:
        """All answers, in the order of the items; see `workers.map_in_workers`."""
        answers: dict[int, Any] = {}
        for number, answer in self.answers(work, items, progress, given_up):
            answers[number] = answer if arrived is None or isinstance(answer, GivenUp) else arrived(number, answer)
        lost = {n: a for n, a in answers.items() if isinstance(a, GivenUp)}
        if lost and given_up is None:
            number, first = next(iter(sorted(lost.items())))
            raise SupernetError(f"piece {number + 1} of {len(items)} was given up: {first.reason}")
        return [a.instead if isinstance(a := answers[n], GivenUp) else a for n in range(len(items))]

    def answers(
        self,
        work: Callable[..., Any],
        items: Sequence[Any],
        progress: Callable[[int, int, int], None] | None = None,
        given_up: Callable[[int, str], Any] | None = None,
    ) -> Iterator[tuple[int, Any]]:
        """Do all pieces.

        Args:
            work: Called as `work(item, report)` on a worker.
            items: The items.
            progress: Receives an item's number, its steps done and its steps in all.
            given_up: What stands for an item that was given up, from its number and the reason.

        Yields:
            The number of an item and its answer, or a `GivenUp`, as they come.
        """
        if not items:
            return
        pieces = _Pieces(self, cloudpickle.dumps(work), items, progress)
        try:
            for number, answer in pieces.run():
                if isinstance(answer, GivenUp) and given_up is not None:
                    answer.instead = given_up(number, answer.reason)
                yield number, answer
        finally:
            pieces.close()


class GivenUp:
    """A piece that ended its worker too often."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        self.instead: Any = None  # what the caller has in its place


class _Pieces:
    """The pieces of one call: a few more than there are workers are with the scheduler at any time."""

    def __init__(
        self, cluster: Cluster, work: bytes, items: Sequence[Any], progress: Callable[[int, int, int], None] | None
    ) -> None:
        self.cluster, self.client, self.items = cluster, cluster.client, items
        self.progress = progress
        self.topic = f"supernetic-{token_hex(8)}"
        self.news: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self.waiting = deque(range(len(items)))
        self.running: dict[int, Any] = {}  # futures by number
        self.tries: dict[int, int] = {}
        self.submitted = 0
        self.fetched: dict[str, Any] = {}  # answers by the keys of their futures
        self.avoid: dict[int, set[str]] = {}  # workers that a piece was lost on
        self.suspects: deque[int] = deque()  # pieces whose workers were lost: one of them may have done it
        self.alone: int | None = None  # the suspect that is tried with nothing beside it
        self.steps: dict[int, int] = {}
        self.work = work
        self.client.subscribe_topic(self.topic, lambda event: self.news.put(("report", event[1])))

    def close(self) -> None:
        """Withdraw what is not done."""
        with suppress(Exception):
            self.client.cancel(list(self.running.values()), force=True)
            self.client.unsubscribe_topic(self.topic)

    def run(self) -> Iterator[tuple[int, Any]]:
        last_worker = monotonic()
        while self.waiting or self.running or self.suspects:
            size = self.cluster.size
            if self.suspects and not self.waiting and not self.running:
                self.alone = self.suspects.popleft()
                self._submit(self.alone)
            while self.waiting and len(self.running) < size + max(LEAST_AHEAD, size // 4):
                self._submit(self.waiting.popleft())
            last_worker = monotonic() if size else last_worker
            if monotonic() - last_worker > (waited := max(FIRST_WORKER_S, self.cluster.patience)):
                raise SupernetError(f"{self.cluster.where} has had no worker for {waited:g} s: run it again to resume")
            for number, future in self._next_news():
                if (found := self._finished(number, future)) is not None:
                    yield found
            self.fetched.clear()

    def _next_news(self) -> list[tuple[int, Any]]:
        """Pieces that are done by now, their answers fetched all at once; progress is passed on."""
        done = []
        try:
            kind, content = self.news.get(timeout=LOOK_INTERVAL_S)
            while True:
                if kind == "report":
                    self._report(*content)
                else:
                    done.append(content)
                kind, content = self.news.get_nowait()
        except queue.Empty:
            pass
        whole = [future for _, future in done if future.status == "finished"]
        if len(whole) > 1:
            with suppress(Exception):  # one was lost meanwhile: then each is asked for by itself
                self.fetched = dict(zip((f.key for f in whole), self.client.gather(whole), strict=True))
        return done

    def _submit(self, number: int) -> None:
        attempt = self.tries[number] = self.tries.get(number, 0) + 1
        self.submitted += 1
        others = [worker for worker in self.cluster.slots if worker not in self.avoid.get(number, set())]
        avoiding = {"workers": others, "allow_other_workers": True} if number in self.avoid and others else {}
        try:
            future = self.client.submit(
                do_piece, self.work, cloudpickle.dumps(self.items[number]), number, attempt, self.topic,
                self.cluster.patience, self.cluster.in_child, key=f"{self.topic}-{number}-{self.submitted}", pure=False,
                priority=-number, **avoiding,
            )  # fmt: skip
        except (OSError, RuntimeError) as error:  # Dask: the client is closed
            raise self._scheduler_lost() from error
        self.running[number] = future
        future.add_done_callback(lambda done: self.news.put(("done", (number, done))))

    def _report(self, number: int, attempt: int, done: int, steps: int, worker: str) -> None:
        if self.progress is None or not steps or self.tries.get(number) != attempt or number not in self.running:
            return
        self.steps[number] = steps
        if done < steps:  # the end is told when the answer is there
            self.progress(number, done, steps)

    def _finished(self, number: int, future: Any) -> tuple[int, Any] | None:
        if number not in self.running or self.running[number] is not future:
            return None
        status = future.status
        if status in ("cancelled", "lost"):
            self._withdrawn(number)
            return None
        if status == "error":
            del self.running[number]
            return self._dask_failed(number, future.exception())
        try:
            outcome = self.fetched.pop(future.key, None) or future.result()
        except Exception:  # the answer, or the scheduler, went with a worker just now
            self._withdrawn(number)
            return None
        del self.running[number]
        future.release()
        if "answer" in outcome:
            if self.progress is not None and number in self.steps:
                self.progress(number, self.steps[number], self.steps[number])
            return number, decode(outcome["answer"])
        failure = failure_from(outcome["failure"])
        if failure.cause != Cause.ENDED:
            place = f"on the worker {outcome['worker']}: "
            raise failure._replace(message=place + failure.message).error()
        return self._again(number, failure.message, str(outcome["worker"]))

    def _again(self, number: int, reason: str, worker: str) -> tuple[int, GivenUp] | None:
        """Try a piece elsewhere, or give it up."""
        if reason == WITHDRAWN:  # the scheduler took it back from a worker that it had given up
            self.tries[number] -= 1
        elif self.tries[number] >= TRIES:
            return number, GivenUp(f"{reason} ({TRIES} tries)")
        else:
            self.avoid.setdefault(number, set()).add(worker)
        self.waiting.appendleft(number)
        return None

    def _withdrawn(self, number: int) -> None:
        """Dask has forgotten a piece: the scheduler is gone, or lost it with a worker."""
        try:
            self.client.nthreads()
        except Exception:
            raise self._scheduler_lost() from None
        if self.client.status != "running":
            raise self._scheduler_lost()
        del self.running[number]
        self.tries[number] -= 1
        self.waiting.appendleft(number)

    def _dask_failed(self, number: int, error: BaseException) -> tuple[int, GivenUp] | None:
        from distributed.scheduler import KilledWorker, NoValidWorkerError

        if isinstance(error, KilledWorker):  # by Dask's own count, `distributed.scheduler.allowed-failures`
            if number != self.alone:  # it may have waited beside the one that did it
                self.suspects.append(number)
                return None
            return number, GivenUp("every worker that had it was lost: it may need more memory than they have")
        if isinstance(error, NoValidWorkerError):
            return number, GivenUp("no worker is left that it could run on")
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        raise SupernetError(f"piece {number + 1} of {len(self.items)} failed in Dask: {reason}")

    def _scheduler_lost(self) -> SupernetError:
        return SupernetError(f"the scheduler of {self.cluster.where} is gone: run the same command again to resume")


# --- where the cluster is ---------------------------------------------------------------------------------------------


def _checked_address(where: str, tls: bool, insecure: bool) -> str:
    """The address of a scheduler that may be talked to."""
    parts = urlsplit(where)
    try:
        good = parts.scheme in ("tcp", "tls") and parts.hostname is not None and parts.port is not None
    except ValueError:
        good = False
    if not good:
        raise InputError(f"a cluster is tcp://HOST:PORT, tls://HOST:PORT, local:WORKERS or a .toml file, got {where!r}")
    if parts.scheme == "tls":
        if not tls:
            raise InputError(f"{where} needs certificates: give --cluster-tls DIR")
        return where
    if tls:
        raise InputError(f"--cluster-tls goes with an address of tls://, got {where}")
    if not insecure and not is_loopback(str(parts.hostname)):
        raise InputError(
            f"{where} is not on this machine, and Dask runs what anybody sends: use TLS (--cluster-tls DIR), or say "
            "--insecure"
        )
    return where


def is_loopback(host: str) -> bool:
    """Whether a name or address is of this machine alone."""
    try:
        found = {str(info[4][0]) for info in socket.getaddrinfo(host, None)}
    except OSError as error:
        raise InputError(f"the host {host!r} of the cluster is not known: {error.strerror or error}") from None
    return all(ip_address(address.partition("%")[0]).is_loopback for address in found)


def _security(folder: str | Path | None) -> Any:
    """Dask's security object from a folder of certificates; None without one."""
    if folder is None:
        return None
    from distributed.security import Security

    files = {name: Path(folder) / file for name, file in TLS_FILES.items()}
    for file in files.values():
        if not file.is_file():
            raise InputError(f"a folder for TLS holds {', '.join(TLS_FILES.values())}: {file} does not exist")
    roles = {
        f"tls_{role}_{name}": str(files[name]) for role in ("client", "scheduler", "worker") for name in ("cert", "key")
    }
    return Security(tls_ca_file=str(files["ca"]), require_encryption=True, **roles)


def _count(where: str) -> int:
    text = where.removeprefix(LOCAL)
    if not text.isdecimal() or int(text) < 1:
        raise InputError(f"a local cluster is local:WORKERS, such as local:4, got {where!r}")
    return int(text)


@contextmanager
def _local_cluster(workers: int) -> Iterator[str]:
    """Scheduler and workers on loopback, in a process that ends with this one; its address."""
    command = [sys.executable, "-P", "-m", f"{__package__}.local_cluster", str(workers)]
    folders = os.pathsep.join(folder or os.getcwd() for folder in sys.path)
    environment = {**os.environ, "PYTHONPATH": folders}
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=environment, process_group=0, text=True
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        if not address:
            raise SupernetError(f"a local cluster of {workers} workers could not be started")
        yield address
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert process.stdout is not None
        process.stdout.close()


def _read_file(path: Path) -> dict[str, Any]:
    """The description of a cluster whose workers are jobs of a queue."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    for name in table:
        if name not in FILE_SETTINGS:
            raise UnknownNameError(f"setting of {path}", name, FILE_SETTINGS)
    if table.get("kind") not in QUEUES:
        raise UnknownNameError(f"kind of queue in {path}", str(table.get("kind", "")), QUEUES)
    jobs = table.get("jobs")
    limits = jobs if isinstance(jobs, list) else [jobs]
    if not all(type(n) is int and n >= 0 for n in limits) or len(limits) not in (1, 2) or max(limits) < 1:
        raise InputError(f"{path}: jobs must be a number, or [least, most], got {jobs!r}")
    if not isinstance(table.get("options", {}), Mapping):
        raise InputError(f"{path}: options must be a table, got {table['options']!r}")
    waits = table.get("patience", PATIENCE_S)
    if isinstance(waits, bool) or not isinstance(waits, int | float) or not waits > 0:
        raise InputError(f"{path}: patience must be more than 0 seconds, got {waits!r}")
    return table


@contextmanager
def _queue_cluster(where: str, table: Mapping[str, Any], security: Any) -> Iterator[Any]:
    """A scheduler in this process whose workers are jobs of a queue."""
    try:
        import dask_jobqueue
        from dask_jobqueue import local
    except ImportError:
        raise InputError(f"{where} needs dask-jobqueue: {INSTALL}") from None
    name = QUEUES[table["kind"]]
    made = getattr(local if table["kind"] == "local" else dask_jobqueue, name)
    options = {"cores": 1, "processes": 1, **table.get("options", {})}
    try:
        opened = made(security=security, scheduler_options={"dashboard_address": QUIET_PORT}, **options)
    except (TypeError, ValueError) as error:
        raise InputError(f"{where}: {name} does not take these options: {error}") from None
    with opened:
        jobs = table["jobs"]
        if isinstance(jobs, list):
            opened.adapt(minimum_jobs=jobs[0], maximum_jobs=jobs[1])
        else:
            opened.scale(jobs=jobs)
        yield opened


# --- what workers are asked and given ---------------------------------------------------------------------------------


def _versions() -> dict[str, str]:
    versions: dict[str, str] = _asks_versions()()
    return versions


def _asks_versions() -> Callable[[], dict[str, str]]:
    """A function that is sent by value: a worker of another version may not have this module."""

    def versions() -> dict[str, str]:
        import platform
        from importlib.metadata import PackageNotFoundError, version

        found = {"Python": ".".join(platform.python_version_tuple()[:2])}
        try:
            import supernetic

            found["supernetic"] = supernetic.__version__
        except ImportError:
            found["supernetic"] = ""
        for name in ("torch", "numpy"):
            try:
                found[name] = version(name).partition("+")[0]
            except PackageNotFoundError:
                found[name] = ""
        return found

    return versions


def _guard(expected: Mapping[str, str]) -> Any:
    """Closes a worker that joins with other versions."""
    from distributed import WorkerPlugin

    ask = _asks_versions()

    class VersionGuard(WorkerPlugin):  # type: ignore[misc]
        def setup(self, worker: Any) -> None:
            theirs = ask()
            if theirs != expected:
                reason = f"this worker is refused: it has {theirs}, the job has {expected}"
                print(f"supernetic: {reason}", file=__import__("sys").stderr, flush=True)
                worker.loop.add_callback(worker.close, reason=reason, nanny=True)

    return VersionGuard()


def _shared_file(digest: str, data: bytes) -> Any:
    """Keeps a file at every worker."""
    from distributed import WorkerPlugin

    class SharedFile(WorkerPlugin):  # type: ignore[misc]
        def setup(self, worker: Any) -> None:
            keep_shared(shared_folder(worker), digest, data)

    return SharedFile()


def _quieten() -> None:
    """Dask logs what is said in one line here."""
    for name in ("distributed", "distributed.client", "distributed.core", "distributed.batched", "tornado"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
