"""What Ray starts on a node: a carrier of bytes, which starts `run.node` and hands back its answer.

The process that measures is not Ray's: it gets none of the variables with which Ray starts its workers, and it ends
when this one does, since its stdin is then closed.
"""

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from levelfield.errors import LevelfieldError, printable
from levelfield_fleet.run import messages
from levelfield_fleet.run.messages import Failed

NODE = "levelfield_fleet.run.node"
_OF_RAY = ("RAY_", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS")
"""Variables that Ray sets for its workers, by how they begin; of the last two it sets its own values."""
_TAIL_BYTES = 1500
_EXIT_S = 5.0
"""How long a process that closed its output may take to say why."""


def without_ray(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without what Ray sets for its workers."""
    return {name: value for name, value in environment.items() if not name.startswith(_OF_RAY)}


def carry(request: bytes, chunks: Iterable[bytes] = ()) -> bytes:
    """Ask this node, and return its reply."""
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", NODE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=without_ray(os.environ),
            start_new_session=True,
        )
        with process:
            if process.stdin is None or process.stdout is None:
                raise RuntimeError("A process was started without its pipes.")
            try:
                with contextlib.suppress(BrokenPipeError):  # it may answer before it has read all
                    messages.write(process.stdin, request)
                    for chunk in chunks:
                        messages.write(process.stdin, chunk)
                    messages.write(process.stdin, b"")
                return messages.read(process.stdout)
            except (EOFError, LevelfieldError):
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_EXIT_S)
                process.kill()
                process.wait()
                errors.seek(max(0, errors.seek(0, os.SEEK_END) - _TAIL_BYTES))
                said = printable(" ".join(errors.read().decode("utf-8", "replace").split()))
                return messages.encode(Failed(f"The process on the node ended without an answer: {said}"))
            finally:
                with contextlib.suppress(BrokenPipeError):
                    process.stdin.close()


def ask(request: bytes, chunks: Sequence[Any]) -> bytes:
    """Ask the node on which Ray runs this."""
    import ray

    return carry(request, (ray.get(chunk) for chunk in chunks))
