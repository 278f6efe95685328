"""Workers that are processes of this machine: from virtual environments, or in the current interpreter.

The latter takes whatever frameworks are installed: for machines with neither engine nor network.
"""

import os
import platform
import shutil
import site
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from levelfield.errors import LevelfieldError
from levelfield.images import environments, worker_code
from levelfield.images.wheels import Progress
from levelfield.launchers import disk_limit
from levelfield.launchers.environment import gpu_environment, memory_environment, worker_environment
from levelfield.launchers.process import ProcessChannel
from levelfield.launchers.protocol import Launcher, LaunchSpec
from levelfield.launchers.worker import Worker, WorkerError
from levelfield.paths import package_root
from levelfield.record.schema import Image


class VenvLauncher(Launcher):
    """Launch workers as child processes, each from the environment that its lock describes."""

    kind: Literal["docker", "venv", "host"] = "venv"

    def __init__(self) -> None:
        self._environments: dict[str, environments.Environment] = {}

    def prepare(self, image: str, variant: str, version: str | None, progress: Progress) -> Image:
        environment = environments.make(image, variant, version=version, progress=progress)
        self._environments[environment.image.tag] = environment
        return environment.image

    def launch(self, spec: LaunchSpec) -> Worker:
        found = self._environments[spec.image.tag]
        variables = _variables(spec)
        return start_process([str(found.python), "-m", "levelfield.worker"], spec.name, variables, found.worker_code)


def _variables(spec: LaunchSpec, passed_on: Mapping[str, str] = {}) -> dict[str, str]:
    fixed = worker_environment(threads=spec.threads, cpus=spec.cpus, padding_bytes=spec.padding_bytes)
    gpu = gpu_environment(spec.gpu, str(spec.cache or ""))
    return {**fixed, **memory_environment(spec.memory_nodes), **passed_on, **gpu}


def start_process(command: list[str], name: str, variables: dict[str, str], code: Path) -> Worker:
    """Start a worker process with `code` on its path and a private home and temporary folder.

    Raises WorkerError: the program cannot be started.
    """
    owned = disk_limit.make()
    home = owned / "home"
    home.mkdir()
    started_ns = time.perf_counter_ns()
    try:
        channel = ProcessChannel(
            command,
            environment={**variables, "HOME": str(home), "TMPDIR": str(home), "PYTHONPATH": str(code)},
            folder=home,
            owned=owned,
        )
    except OSError as error:
        shutil.rmtree(owned, ignore_errors=True)
        raise WorkerError("error", f"{name} could not be started: {error.strerror or error}.") from error
    return Worker(name, channel, started_ns=started_ns)


PASSED_ON = (
    "PATH",
    "LD_LIBRARY_PATH",
    "PYTHONPATH",
    "CUDA_VISIBLE_DEVICES",
    "NVIDIA_VISIBLE_DEVICES",
    "CUDA_HOME",
    "CUDA_PATH",
    "TRITON_LIBCUDA_PATH",
    "TRITON_PTXAS_PATH",
)
"""Variables without which an interpreter, or a compiler that a framework brings, may not find its own libraries."""


class HostLauncher(Launcher):
    """Launch workers with `sys.executable`: nothing is locked, and the record says so."""

    kind: Literal["docker", "venv", "host"] = "host"

    def prepare(self, image: str, variant: str, version: str | None, progress: Progress) -> Image:
        if version is not None:
            raise LevelfieldError(
                f"The host launcher runs what is installed here, not {image} {version}.",
                fix="Leave out --launcher host: versions need images or virtual environments.",
            )
        progress(f"using this interpreter for {image}")
        return Image(
            name=image,
            variant=variant,
            launcher="host",
            tag=f"host:{image}",
            python=platform.python_version(),
            architecture=platform.machine(),
            plugins=worker_code.distributions(image),
            unlocked="It ran in the interpreter that Levelfield itself runs in, with whatever is installed there.",
        )

    def launch(self, spec: LaunchSpec) -> Worker:
        variables = _variables(spec, {name: os.environ[name] for name in PASSED_ON if name in os.environ})
        # A worker has another home, and so no folder of the user's own packages but the one that this process has.
        user_site = site.getusersitepackages() if site.getusersitepackages() in sys.path else ""
        folders = (str(package_root().parent), variables.get("PYTHONPATH", ""), user_site)
        code = Path(os.pathsep.join(filter(None, folders)))
        return start_process([sys.executable, "-m", "levelfield.worker"], spec.name, variables, code)
