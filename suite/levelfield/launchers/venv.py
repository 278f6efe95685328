"""Workers in virtual environments made from the same locks: for machines where no container engine answers."""

import shutil
import time
from pathlib import Path
from typing import Literal

from levelfield.images import environments
from levelfield.images.wheels import Progress
from levelfield.launchers import owned_folders
from levelfield.launchers.environment import gpu_environment, memory_environment, worker_environment
from levelfield.launchers.process import ProcessChannel
from levelfield.launchers.protocol import Launcher, LaunchSpec
from levelfield.launchers.worker import Worker, WorkerError
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
        variables = worker_environment(threads=spec.threads, cpus=spec.cpus, padding_bytes=spec.padding_bytes)
        variables |= memory_environment(spec.memory_nodes)
        variables |= gpu_environment(spec.gpu, str(spec.cache or ""))
        return start_process([str(found.python), "-m", "levelfield.worker"], spec.name, variables, found.worker_code)


def start_process(command: list[str], name: str, variables: dict[str, str], code: Path) -> Worker:
    """Start a worker process with `code` on its path and a private home and temporary folder.

    Raises WorkerError: the program cannot be started.
    """
    owned = owned_folders.make()
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
