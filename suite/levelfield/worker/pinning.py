"""Where a worker may run and take memory from: the CPUs and NUMA nodes that its supervisor names in variables."""

import ctypes
import errno
import os

CPUS = "LEVELFIELD_CPUS"
"""Variable with the numbers of the CPUs, in the order in which several processes share them."""
MEMORY_NODES = "LEVELFIELD_MEMORY_NODES"
"""Variable with the numbers of the NUMA nodes that memory is bound to; not there: it is not bound here."""
_SET_MEMPOLICY = {"x86_64": 238, "aarch64": 237}
_MIGRATE_PAGES = {"x86_64": 256, "aarch64": 238}
"""Numbers of the system calls set_mempolicy(2) and migrate_pages(2), for which the C library has no functions (the
kernel's `arch/x86/entry/syscalls/syscall_64.tbl` and `include/uapi/asm-generic/unistd.h`)."""
_MPOL_BIND = 2
"""Mode in which memory comes from the named nodes alone (`include/uapi/linux/mempolicy.h`)."""
_NO_MODE = -1
_WORD_BITS = 8 * ctypes.sizeof(ctypes.c_ulong)


def pin() -> None:
    """Pin this process, before any thread is made: some frameworks obey nothing else, and threads inherit both.

    Raises OSError: the kernel refuses a CPU or a node.
    """
    cpus = named_cpus()
    if cpus:
        os.sched_setaffinity(0, cpus)
    nodes = _numbers(MEMORY_NODES)
    if nodes:
        bind_memory(nodes)


def named_cpus() -> list[int]:
    """Return the CPUs that the supervisor names, in its order; none where it names none."""
    return _numbers(CPUS)


def bind_memory(nodes: list[int]) -> None:
    """Take this thread's memory from some NUMA nodes alone, and that of the threads and processes that it makes.

    What this process has allocated until now is moved there, but for what it shares; where the kernel forbids that, it
    stays where it is.

    Raises OSError: the kernel refuses; `cannot_bind_memory` tells beforehand where it refuses whatever is named.
    """
    with os.scandir("/sys/devices/system/node") as folders:
        there = [int(each.name[4:]) for each in folders if each.name[:4] == "node" and each.name[4:].isdecimal()]
    words = max([*nodes, *there]) // _WORD_BITS + 1
    bits = words * _WORD_BITS + 1  # the kernel takes one less than it is told
    mask = _mask(nodes, words)
    error = _call(_SET_MEMPOLICY, ctypes.c_long(_MPOL_BIND), mask, ctypes.c_ulong(bits))
    if error:
        named = ", ".join(map(str, nodes))
        raise OSError(error, f"memory cannot be bound to the NUMA nodes {named}: {os.strerror(error)}")
    others = _mask([node for node in there if node not in nodes], words)
    _call(_MIGRATE_PAGES, ctypes.c_long(0), ctypes.c_ulong(bits), others, mask)


def cannot_bind_memory() -> str:
    """Return why this process and its children cannot bind memory; empty: they can.

    The kernel is asked for a mode that does not exist, which it refuses as invalid without changing anything.
    """
    error = _call(_SET_MEMPOLICY, ctypes.c_long(_NO_MODE), None, ctypes.c_ulong(0))
    if error == errno.EINVAL:
        return ""
    return f"the kernel refuses the system call set_mempolicy: {os.strerror(error)}"


def _mask(nodes: list[int], words: int) -> "ctypes.Array[ctypes.c_ulong]":
    mask = (ctypes.c_ulong * words)()
    for node in nodes:
        mask[node // _WORD_BITS] |= 1 << node % _WORD_BITS
    return mask


def _call(numbers: dict[str, int], *arguments: object) -> int:
    """Call the kernel by a number that depends on the processor; return the error number, 0 for success."""
    number = numbers.get(os.uname().machine)
    if number is None:
        return errno.ENOSYS
    libc = ctypes.CDLL(None, use_errno=True)
    return ctypes.get_errno() if libc.syscall(ctypes.c_long(number), *arguments) < 0 else 0


def _numbers(variable: str) -> list[int]:
    return [int(number) for number in os.environ.get(variable, "").split(",") if number]
