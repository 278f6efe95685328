"""Where a worker may run and take memory from: the CPUs and NUMA nodes that its supervisor names in variables."""

import ctypes
import errno
import os

CPUS = "LEVELFIELD_CPUS"
"""Variable with the numbers of the CPUs, in the order in which several processes share them."""
MEMORY_NODES = "LEVELFIELD_MEMORY_NODES"
"""Variable with the numbers of the NUMA nodes that memory is bound to; not there: it is not bound here."""
_SET_MEMPOLICY = {"x86_64": 238, "aarch64": 237}
"""Number of the system call set_mempolicy(2), for which the C library has no function (the kernel's
`arch/x86/entry/syscalls/syscall_64.tbl` and `include/uapi/asm-generic/unistd.h`)."""
_MPOL_BIND = 2
"""Mode in which memory comes from the named nodes alone (`include/uapi/linux/mempolicy.h`)."""
_NO_MODE = -1
_WORD_BITS = 8 * ctypes.sizeof(ctypes.c_ulong)


def pin() -> None:
    """Pin this process, before any thread is made: some frameworks obey nothing else, and threads inherit both.

    Raises
    ------
    OSError
        The kernel refuses a CPU or a node.
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

    Parameters
    ----------
    nodes
        Numbers of the nodes.

    Raises
    ------
    OSError
        The kernel refuses; `cannot_bind_memory` tells beforehand where it refuses whatever is named.
    """
    mask = (ctypes.c_ulong * (max(nodes) // _WORD_BITS + 1))()
    for node in nodes:
        mask[node // _WORD_BITS] |= 1 << node % _WORD_BITS
    # The kernel takes one bit less than it is told.
    error = _set_mempolicy(_MPOL_BIND, mask, len(mask) * _WORD_BITS + 1)
    if error:
        named = ", ".join(map(str, nodes))
        raise OSError(error, f"memory cannot be bound to the NUMA nodes {named}: {os.strerror(error)}")


def cannot_bind_memory() -> str:
    """Return why this process and its children cannot bind memory; empty: they can.

    The kernel is asked for a mode that does not exist, which it refuses as invalid without changing anything.
    """
    error = _set_mempolicy(_NO_MODE, None, 0)
    if error == errno.EINVAL:
        return ""
    return f"the kernel refuses the system call set_mempolicy: {os.strerror(error)}"


def _set_mempolicy(mode: int, mask: "ctypes.Array[ctypes.c_ulong] | None", bits: int) -> int:
    """Call set_mempolicy(2); return its error number, 0 for success."""
    number = _SET_MEMPOLICY.get(os.uname().machine)
    if number is None:
        return errno.ENOSYS
    libc = ctypes.CDLL(None, use_errno=True)
    failed = libc.syscall(ctypes.c_long(number), ctypes.c_long(mode), mask, ctypes.c_ulong(bits))
    return ctypes.get_errno() if failed else 0


def _numbers(variable: str) -> list[int]:
    return [int(number) for number in os.environ.get(variable, "").split(",") if number]
