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

from suite.worker.libraries import classify, libraries, mapped, relative
from suite.worker.messages import Library, Probed
from suite.worker.probes import affinity, distributions, environment, memory, probe, threads, usage

pytestmark = pytest.mark.alone

MIB = 1 << 20


def fresh(program: str, **variables: str) -> str:
    """Run a program in an interpreter of its own and return what it prints."""
    answer = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **variables},
        cwd=Path(__file__).parents[2],
    )
    return answer.stdout


def test_a_process_describes_itself_and_the_description_travels() -> None:
    answer = probe()
    assert msgspec.json.decode(msgspec.json.encode(answer), type=Probed) == answer
    assert answer.peak_rss_bytes >= answer.rss_bytes - MIB > 10 * MIB
    assert answer.peak_source == "VmHWM"
    assert answer.distributions["numpy"] == np.__version__
    assert answer.affinity == tuple(sorted(os.sched_getaffinity(0)))
    assert answer.threads_alive >= 1


def test_the_peak_is_seen_after_the_memory_is_given_back() -> None:
    program = (
        "from suite.worker.probes import memory; before = memory()[1]; block = bytearray(b'x') * (64 << 20);"
        "del block; print(memory()[1] - before, memory()[0])"
    )
    grown, now = map(int, fresh(program).split())
    assert 60 * MIB < grown < 80 * MIB
    assert now < 60 * MIB


def test_the_peak_of_a_large_parent_is_not_inherited() -> None:
    ballast = bytearray(b"x") * (256 * MIB)
    peak = int(fresh("from suite.worker.probes import memory; print(memory()[1])"))
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


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("libscipy_openblas64_-32a4b2a6.so", "OpenBLAS"),
        ("libopenblas.so.0", "OpenBLAS"),
        ("libmkl_rt.so.2", "MKL"),
        ("libdnnl.so.3", "oneDNN"),
        ("libblis.so.4", "BLIS"),
        ("libgomp.so.1", "OpenMP"),
        ("libgomp-a34b3233.so.1.0.0", "OpenMP"),
        ("libiomp5.so", "OpenMP"),
        ("libomp.so.5", "OpenMP"),
        ("libtbb.so.12", "TBB"),
        ("libtbbmalloc.so.2", "TBB"),
        ("libcudart.so.13", "CUDA"),
        ("libcuda.so.1", "CUDA"),
        ("libcudnn_ops.so.9", "cuDNN"),
        ("libcublasLt.so.13", "cuBLAS"),
        ("libnccl.so.2", "NCCL"),
        ("libnvinfer.so.10", "TensorRT"),
        ("libtorch_cpu.so", "framework"),
        ("libtensorflow_cc.so.2", "framework"),
        ("libjax_common.so", "framework"),
        ("onnxruntime_pybind11_state.cpython-311-x86_64-linux-gnu.so", "framework"),
        ("libopenvino_intel_cpu_plugin.so", "framework"),
        ("libopenvino_onnx_frontend.so.2641", ""),
        ("libtorch_python.so", ""),
        ("libc.so.6", ""),
        ("_multiarray_umath.cpython-311-x86_64-linux-gnu.so", ""),
    ],
)
def test_libraries_are_known_by_name(name: str, kind: str) -> None:
    assert classify(name) == kind


def test_maps_name_each_library_once() -> None:
    maps = (
        "7f00-7f01 r--p 00000000 fe:00 1  /a/lib with space/libgomp.so.1\n"
        "7f01-7f02 r-xp 00001000 fe:00 1  /a/lib with space/libgomp.so.1\n"
        "7f03-7f04 rw-p 00000000 00:00 0 \n7f05-7f06 rw-p 00000000 00:00 0  [heap]\n"
        "7f07-7f08 r--p 00000000 fe:00 2  /usr/share/locale.sock\n"
    )
    assert mapped(maps) == ["/a/lib with space/libgomp.so.1"]


def test_numpys_blas_is_found_with_its_version_and_without_a_private_path() -> None:
    np.ones((64, 64)) @ np.ones((64, 64))
    found = [library for library in probe().libraries if library.kind == "OpenBLAS"]
    assert found
    assert any("OpenBLAS 0." in library.name for library in found)
    assert all(library.path.startswith(("numpy.libs/", "scipy.libs/")) for library in found)


def test_no_path_tells_where_it_is() -> None:
    assert relative("/home/someone/.venv/lib/python3.11/site-packages/torch/lib/libc10.so") == "torch/lib/libc10.so"
    assert relative("/home/someone/build/libgomp.so.1") == "libgomp.so.1"


def elf(content: bytes) -> bytes:
    """Make a small ELF file whose `.rodata` is `content`."""
    names = b"\0.rodata\0.shstrtab\0"
    header = bytearray(64)
    header[:5] = b"\x7fELF\x02"
    table = 64 + len(content) + len(names)
    header[40:48] = table.to_bytes(8, "little")
    header[58:64] = b"".join(part.to_bytes(2, "little") for part in (64, 3, 2))

    def section(name: int, offset: int, length: int) -> bytes:
        parts = ((name, 4), (1, 4), (0, 8), (0, 8), (offset, 8), (length, 8))
        return b"".join(value.to_bytes(size, "little") for value, size in parts).ljust(64, b"\0")

    sections = section(0, 0, 0) + section(1, 64, len(content)) + section(9, 64 + len(content), len(names))
    return bytes(header) + content + names + sections


def test_what_is_linked_into_a_framework_is_found_even_across_chunks(tmp_path: Path) -> None:
    file = tmp_path / "libtorch_cpu.so"
    boundary = (1 << 22) - 5
    file.write_bytes(elf(b"\0" * boundary + b"oneDNN v%d.%d.%d (commit %s)" + b"\0" * 99 + b"N3xla3cpuE"))
    assert libraries([str(file)]) == (
        Library(name="libtorch_cpu.so", path="libtorch_cpu.so", kind="framework"),
        Library(name="XLA", path="libtorch_cpu.so", kind="XLA"),
        Library(name="oneDNN", path="libtorch_cpu.so", kind="oneDNN"),
    )


@pytest.mark.parametrize("content", [b"", b"not a library", b"\x7fELF\x02", elf(b"")[:-64]])
def test_a_damaged_library_is_still_named(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "libtorch_cpu.so"
    file.write_bytes(content)
    assert [library.kind for library in libraries([str(file)])] == ["framework"]


@pytest.mark.framework
@pytest.mark.parametrize(
    ("module", "kinds"),
    [
        ("torch", {"framework", "MKL", "oneDNN", "OpenMP"}),
        ("jax.numpy", {"framework", "XLA", "Eigen", "oneDNN"}),
        ("onnxruntime", {"framework", "MLAS"}),
    ],
)
def test_what_frameworks_really_load(module: str, kinds: set[str]) -> None:
    if importlib.util.find_spec(module.partition(".")[0]) is None:
        pytest.skip(f"{module} is not installed here")
    program = (
        f"import sys, msgspec, {module}; from suite.worker.probes import probe;"
        "print(msgspec.json.encode(probe()).decode())"
    )
    answer = msgspec.json.decode(fresh(program), type=Probed)
    assert kinds <= {library.kind for library in answer.libraries}
    assert not any(library.path.startswith("/") for library in answer.libraries)


def test_only_what_matters_of_the_environment_is_told() -> None:
    told = environment(
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
    assert told == {
        "LD_PRELOAD": "",
        "OMP_NUM_THREADS": "2",
        "TF_ENABLE_ONEDNN_OPTS": "1",
        "TORCHINDUCTOR_CACHE_DIR": "~/.cache",
    }


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
        "import sys; from importlib import metadata; from suite.worker.probes import distributions;"
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
        "import json, sys; from suite.worker.probes import distributions, package_folders;"
        "print(json.dumps([distributions(), [each for each in sys.path if each in package_folders()]]))"
    )
    root = Path(__file__).parents[2]
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
        f"import os; os.sched_setaffinity(0, [{one}]); from suite.worker.probes import affinity; print(affinity())"
    )
    assert fresh(program).strip() == f"({one},)"
    assert one in affinity()


def test_memory_without_proc_falls_back_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("suite.worker.probes._status", dict)
    rss, peak, source = memory()
    assert source == "rusage"
    assert peak >= rss - MIB > 0
