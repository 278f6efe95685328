"""The answer of `levelfield lock --check --json`."""

import msgspec

from levelfield.images.base import CheckedBase
from levelfield.images.lock_check import Checked


class CheckedLocks(msgspec.Struct, frozen=True):
    """What is outdated or withdrawn in locks."""

    format: int
    exit_code: int
    """1: something is; 2: nothing is known to be, and the package index gave no answer; 0: nothing is."""
    locks: tuple[Checked, ...]
    bases: tuple[CheckedBase, ...] = ()
    """Locks of Debian packages; only where no image is named."""
