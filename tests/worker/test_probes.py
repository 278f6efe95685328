import os
import sys
from pathlib import Path

import msgspec
import numpy as np

from levelfield.launchers import disk_limit
from levelfield.worker.messages import Probed
from levelfield.worker.probes import environment, probe
from tests.commands import python
from tests.plugged import metadata

MIB = 1 << 20


def test_a_process_describes_itself_and_the_description_travels() -> None:
    answer = probe()
    assert msgspec.json.decode(msgspec.json.encode(answer), type=Probed) == answer
    assert isinstance(answer.memory.peak_rss_bytes, int)
    assert isinstance(answer.memory.rss_bytes, int)
    assert answer.memory.peak_rss_bytes >= answer.memory.rss_bytes - MIB > 10 * MIB
    assert (answer.memory.source, answer.distributions["numpy"]) == ("VmHWM", np.__version__)
    assert answer.affinity == tuple(sorted(os.sched_getaffinity(0)))
    assert answer.threads_alive >= 1


def test_the_peak_is_seen_after_the_memory_is_given_back() -> None:
    program = (
        "from levelfield.worker.probes import memory; before = memory().peak_rss_bytes; "
        "block = bytearray(b'x') * (64 << 20); del block; print(memory().peak_rss_bytes - before, memory().rss_bytes)"
    )
    grown, now = map(int, python(program).split())
    assert 60 * MIB < grown < 80 * MIB
    assert now < 60 * MIB


def test_only_what_matters_of_the_environment_is_reported() -> None:
    variables = environment(
        {
            "HOME": "/home/someone", "OMP_NUM_THREADS": "2", "TF_ENABLE_ONEDNN_OPTS": "1", "TF_CLI_CONFIG_FILE": "x",
            "TORCHINDUCTOR_CACHE_DIR": "/home/someone/.cache", "LD_PRELOAD": "", "JAX_API_KEY": "secret",
            "USER": "someone", "PATH": "/bin",
        }
    )  # fmt: skip
    assert variables == {
        "LD_PRELOAD": "", "OMP_NUM_THREADS": "2", "TF_ENABLE_ONEDNN_OPTS": "1", "TORCHINDUCTOR_CACHE_DIR": "~/.cache",
    }  # fmt: skip


def test_folders_of_one_machine_or_one_run_are_not_reported() -> None:
    """Else two runs of one thing would differ in their environments, and a public record would name private paths."""
    run = f"/tmp/{disk_limit._PREFIX}k3_x9/caches"
    found = environment(
        {
            "HOME": "/home/someone",
            "TORCHINDUCTOR_CACHE_DIR": f"{run}/torch-compile-mlp",
            "TRITON_PTXAS_PATH": f"{sys.prefix}/lib/ptxas",
            "LD_LIBRARY_PATH": f"{sys.prefix}/lib:/home/someone/lib:/usr/local/nvidia/lib64",
        }
    )
    assert found == {
        "LD_LIBRARY_PATH": "{python}/lib:~/lib:/usr/local/nvidia/lib64",
        "TORCHINDUCTOR_CACHE_DIR": "{run}/caches/torch-compile-mlp",
        "TRITON_PTXAS_PATH": "{python}/lib/ptxas",
    }


def test_a_folder_that_an_import_adds_is_no_part_of_the_environment(tmp_path: Path) -> None:
    """Setuptools puts the folder of what it vendors on `sys.path`, which is what `importlib.metadata` searches."""
    metadata(tmp_path, "vendored", "1.0", {})
    program = (
        "import sys; from importlib import metadata; from levelfield.worker.probes import distributions;"
        f"before = distributions(); sys.path.insert(0, {str(tmp_path)!r});"
        "print(metadata.version('vendored'), 'vendored' in distributions(), distributions() == before)"
    )
    assert python(program).split() == ["1.0", "False", "True"]
