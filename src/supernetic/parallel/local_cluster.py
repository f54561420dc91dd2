"""A Dask scheduler and its workers on loopback: `python -m supernetic.parallel.local_cluster WORKERS`.

A program of its own, because Dask starts workers by `multiprocessing`, which would run the user's script again in each
of them. It prints the scheduler's address, and ends with the process that started it.
"""

from __future__ import annotations

import logging
import signal
import sys
import threading
import warnings

from .child import end_with_parent


def main(workers: int) -> None:
    """Serve until the parent ends or asks for it."""
    import dask
    from distributed import LocalCluster

    end_with_parent()
    warnings.simplefilter("ignore")
    asked = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: asked.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
    dask.config.set({"distributed.worker.daemon": False, "distributed.admin.log-level": "critical"})
    with LocalCluster(
        n_workers=workers, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0", memory_limit=0,
        silence_logs=logging.CRITICAL,
    ) as served:  # fmt: skip
        print(served.scheduler_address, flush=True)
        asked.wait()


if __name__ == "__main__":
    main(int(sys.argv[1]))
