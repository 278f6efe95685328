import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import msgspec
import numpy as np
import pytest

from levelfield.launchers import owned_folders
from levelfield.worker.messages import Probed
from levelfield.worker.probes import affinity, distributions, environment, memory, probe, threads, usage
from tests.worker.interpreters import fresh

MIB = 1 << 20


def test_a_process_describes_itself_and_the_description_travels() -> None:
    answer = probe()
    assert msgspec.json.decode(msgspec.json.encode(answer), type=Probed) == answer
    assert isinstance(answer.memory.peak_rss_bytes, int)
    assert isinstance(answer.memory.rss_bytes, int)
    assert answer.memory.peak_rss_bytes >= answer.memory.rss_bytes - MIB > 10 * MIB
    assert answer.memory.source == "VmHWM"
    assert answer.distributions["numpy"] == np.__version__
    assert answer.affinity == tuple(sorted(os.sched_getaffinity(0)))
    assert answer.threads_alive >= 1


def test_the_peak_is_seen_after_the_memory_is_given_back() -> None:
    program = (
        "from levelfield.worker.probes import memory; before = memory().peak_rss_bytes; "
        "block = bytearray(b'x') * (64 << 20); del block; print(memory().peak_rss_bytes - before, memory().rss_bytes)"
    )
    grown, now = map(int, fresh(program).split())
    assert 60 * MIB < grown < 80 * MIB
    assert now < 60 * MIB


def test_the_peak_of_a_large_parent_is_not_inherited() -> None:
    ballast = bytearray(b"x") * (256 * MIB)
    peak = int(fresh("from levelfield.worker.probes import memory; print(memory().peak_rss_bytes)"))
    assert len(ballast) > peak > 5 * MIB


def test_native_threads_are_counted() -> None:
    before, release = threads(), threading.Event()
    others = [threading.Thread(target=release.wait) for _ in range(3)]
    for other in others:
        other.start()
    assert threads() == before + 3
    release.set()
    for other in others:
        other.join()


def test_cpu_time_is_counted_in_nanoseconds_for_all_threads() -> None:
    before, clock = usage(), time.process_time_ns()
    while time.process_time_ns() - clock < 100_000_000:
        pass
    after = usage()
    spent = after.user_ns + after.system_ns - before.user_ns - before.system_ns
    assert spent == pytest.approx(100_000_000, rel=0.1)


def test_a_sleep_is_a_voluntary_switch() -> None:
    before = usage()
    for _ in range(5):
        time.sleep(0.001)
    assert usage().voluntary_switches - before.voluntary_switches >= 5


def test_only_what_matters_of_the_environment_is_reported() -> None:
    variables = environment(
        {
            "HOME": "/home/someone",
            "OMP_NUM_THREADS": "2",
            "TF_ENABLE_ONEDNN_OPTS": "1",
            "TF_CLI_CONFIG_FILE": "x",
            "TORCHINDUCTOR_CACHE_DIR": "/home/someone/.cache",
            "LD_PRELOAD": "",
            "JAX_API_KEY": "secret",
            "USER": "someone",
            "PATH": "/bin",
        }
    )
    assert variables == {
        "LD_PRELOAD": "",
        "OMP_NUM_THREADS": "2",
        "TF_ENABLE_ONEDNN_OPTS": "1",
        "TORCHINDUCTOR_CACHE_DIR": "~/.cache",
    }


def test_folders_of_one_machine_or_one_run_are_not_reported() -> None:
    """Else two runs of one thing would differ in their environments, and a public record would name private paths."""
    run = f"/tmp/{owned_folders._PREFIX}k3_x9/caches"
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


def test_the_folder_of_kept_caches_is_not_reported() -> None:
    found = environment({"TORCHINDUCTOR_CACHE_DIR": "/var/c/compiled/0123456789abcdef/torch-compile-mlp"})
    assert found == {"TORCHINDUCTOR_CACHE_DIR": "{run}/torch-compile-mlp"}


def test_distributions_have_one_spelling() -> None:
    found = distributions()
    assert found["msgspec"] == importlib.metadata.version("msgspec")
    assert all(name == name.lower() and "_" not in name for name in found)


def _leave_distribution(folder: Path, name: str) -> Path:
    """Write what an installed distribution leaves beside its packages."""
    (folder / f"{name}-1.0.dist-info").mkdir(parents=True)
    (folder / f"{name}-1.0.dist-info" / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    return folder


def test_a_folder_that_an_import_adds_is_no_part_of_the_environment(tmp_path: Path) -> None:
    """Setuptools puts the folder of what it vendors on `sys.path`, which is what `importlib.metadata` searches."""
    vendored = _leave_distribution(tmp_path, "vendored")
    program = (
        "import sys; from importlib import metadata; from levelfield.worker.probes import distributions;"
        f"before = distributions(); sys.path.insert(0, {str(vendored)!r});"
        "print(metadata.version('vendored'), 'vendored' in distributions(), distributions() == before)"
    )
    assert fresh(program).split() == ["1.0", "False", "True"]


def test_every_way_to_install_is_part_of_the_environment(tmp_path: Path) -> None:
    """An interpreter of its own finds what is installed, linked by a `.pth` file, and on PYTHONPATH, in its order."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True)
    (packages,) = (tmp_path / "env").glob("lib/python*/site-packages")
    _leave_distribution(packages, "installed")
    _leave_distribution(tmp_path / "sources", "linked")
    (packages / "linked.pth").write_text(f"# a comment\nimport sys\n{tmp_path / 'sources'}\n{tmp_path / 'nothing'}\n")
    named = _leave_distribution(tmp_path / "named", "on_the_path")
    (named / "msgspec").symlink_to(Path(msgspec.__file__).parent)  # what the worker's own code imports
    program = (
        "import json, sys; from levelfield.worker.probes import distributions, package_folders;"
        "print(json.dumps([distributions(), [each for each in sys.path if each in package_folders()]]))"
    )
    root = Path(__file__).parents[2] / "suite"
    answer = subprocess.run(
        [tmp_path / "env" / "bin" / "python", "-P", "-c", program],
        env={"PYTHONPATH": f"{named}:{root}"},
        capture_output=True,
        check=True,
    )
    found, folders = json.loads(answer.stdout)
    assert found == {"installed": "1.0", "linked": "1.0", "on-the-path": "1.0"}
    assert folders == [str(named), str(root), str(packages), str(tmp_path / "sources")]


def test_affinity_is_the_one_that_was_set() -> None:
    one = min(os.sched_getaffinity(0))
    program = (
        f"import os; os.sched_setaffinity(0, [{one}]); from levelfield.worker.probes import affinity; print(affinity())"
    )
    assert fresh(program).strip() == f"({one},)"
    assert one in affinity()


def test_memory_without_proc_falls_back_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("levelfield.worker.probes._status", dict)
    found = memory()
    assert found.source == "rusage"
    assert isinstance(found.peak_rss_bytes, int)
    assert isinstance(found.rss_bytes, int)
    assert found.peak_rss_bytes >= found.rss_bytes - MIB > 0
