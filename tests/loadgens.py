"""MLPerf LoadGen's real library, for this Python, from the locked wheel."""

import functools
import platform
from pathlib import Path

from levelfield.paths import cache_folder
from levelfield.prepare import loadgen


@functools.cache
def library() -> Path:
    """Return the folder that workers are handed."""
    root = cache_folder("artifacts")
    python = ".".join(platform.python_version_tuple()[:2])
    return root / loadgen.prepare([python], root, lambda _: None).folder
