"""As an ordinary user sees files: root without the two capabilities that pass over permissions, in this thread."""

import contextlib
import ctypes
from collections.abc import Iterator

_VERSION = 0x20080522  # _LINUX_CAPABILITY_VERSION_3, see capget(2)
_DAC = 1 << 1 | 1 << 2  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH


@contextlib.contextmanager
def ordinary_user() -> Iterator[None]:
    """Let permissions of files hold for root, too."""
    libc = ctypes.CDLL(None, use_errno=True)
    header, kept = (ctypes.c_uint32 * 2)(_VERSION, 0), (ctypes.c_uint32 * 6)()
    assert libc.capget(header, kept) == 0
    fewer = (ctypes.c_uint32 * 6)(*kept)
    fewer[0] &= ~_DAC  # the effective ones; the permitted ones stay, to be taken up again
    assert libc.capset(header, fewer) == 0
    try:
        yield
    finally:
        assert libc.capset(header, kept) == 0
