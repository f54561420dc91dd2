from __future__ import annotations

import subprocess
import sys

import pytest

COUNT_FAULTS = """
import resource, sys, torch
from supernetic.parallel.allocator import keep_freed_memory
if sys.argv[1] == "keep" and not keep_freed_memory():
    print("other")
    raise SystemExit
assert sys.argv[1] == "default" or keep_freed_memory()
for _ in range(20):  # several pieces of memory take turns
    torch.empty(2**24).fill_(1)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    torch.empty(2**24).fill_(1)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="mallopt is glibc's")
def test_large_tensors_get_the_memory_of_those_before_them() -> None:
    """Pages that the system has to provide, for ten tensors of 64 MB."""
    found = {}
    for way in ("default", "keep"):
        done = subprocess.run([sys.executable, "-c", COUNT_FAULTS, way], capture_output=True, text=True, check=True)
        if done.stdout.strip() == "other":
            pytest.skip("the C library is not glibc")
        found[way] = int(done.stdout)
    assert found["keep"] < found["default"] / 10


GROW = """
import sys, torch
from supernetic.parallel import allocator
if not allocator.keep_freed_memory():
    print("other")
    raise SystemExit
stay, most = [], 0
for _ in range(20):
    large = torch.empty(2**24).fill_(1)
    stay.append([torch.empty(n) for n in (4, 8, 12, 20, 30)])  # small ones, which fill the gaps beside large ones
    small = torch.empty(2**22).fill_(1)
    del large
    stay.append([torch.empty(n) for n in (4, 8, 12, 20, 30)])
    del small
    if sys.argv[1] == "limit":
        allocator.give_back_excess()
    most = max(most, allocator.resident_bytes() - allocator.used_bytes())
print(most, allocator.KEPT_BYTES)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="mallopt is glibc's")
def test_what_is_kept_has_a_limit() -> None:
    """Two tensors take turns; whatever glibc does with their memory, a process does not grow from step to step."""
    found = {}
    for way in ("no limit", "limit"):
        done = subprocess.run([sys.executable, "-c", GROW, way], capture_output=True, text=True, check=True)
        if done.stdout.strip() == "other":
            pytest.skip("the C library is not glibc")
        most, limit = map(int, done.stdout.split())
        found[way] = most / limit
    if found["no limit"] < 2:
        pytest.skip("this C library uses the memory again by itself")
    assert found["limit"] < 1.5
