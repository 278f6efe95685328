"""What nvidia-smi says and NVML does not: its query is run, which changes nothing and starts no test."""

import shutil
import subprocess
import tempfile

from suite.errors import LevelfieldError
from suite.fieldtools import nvidia_smi
from suite.fieldtools.outputs import MAX_BYTES
from suite.fieldtools.values import text
from suite.machine.reading import Facts
from suite.record.schema import Absent

LIMIT_S = 20
"""Time for an answer: without persistence mode the driver first starts every GPU."""


def facts(limit_s: float = LIMIT_S) -> Facts:
    """Return facts of the GPUs by `nvidia-smi -q -x`, where it is on PATH.

    Parameters
    ----------
    limit_s
        Time for an answer, in seconds; the program is killed after it.

    Returns
    -------
    dict
        As `suite.fieldtools.nvidia_smi.facts`; or `output`, absent with the reason.
    """
    program = shutil.which("nvidia-smi")
    if program is None:
        return {"output": Absent("nvidia-smi is not on PATH")}
    with tempfile.TemporaryFile() as printed:
        try:
            done = subprocess.run(
                [program, "-q", "-x"],
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=subprocess.STDOUT,
                timeout=limit_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return {"output": Absent(f"nvidia-smi did not answer within {limit_s:g} s")}
        except OSError as error:
            return {"output": Absent(f"nvidia-smi cannot be run: {error.strerror or error}")}
        printed.seek(0)
        content = printed.read(MAX_BYTES + 1)
    if done.returncode != 0:
        return {"output": Absent(f"nvidia-smi ended with {done.returncode}: {text(content.decode(errors='replace'))}")}
    if len(content) > MAX_BYTES:
        return {"output": Absent(f"nvidia-smi printed more than {MAX_BYTES:,} bytes")}
    try:
        return nvidia_smi.facts(content) or {"output": Absent("nvidia-smi lists no GPU")}
    except LevelfieldError as error:
        return {"output": Absent(error.message.rstrip("."))}
