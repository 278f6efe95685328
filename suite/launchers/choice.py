"""Which launcher a run uses, and why."""

from suite.errors import LevelfieldError
from suite.images.base import Kind
from suite.launchers.docker import DockerLauncher, connect
from suite.launchers.host import HostLauncher
from suite.launchers.protocol import Launcher
from suite.launchers.venv import VenvLauncher


def choose(name: str | None, *, base: Kind) -> tuple[Launcher, str]:
    """Return the launcher of that name, or the best one there is, with the reason where the user did not choose.

    Raises
    ------
    LevelfieldError
        When `docker` was asked for and no engine answers.
    """
    match name:
        case "docker":
            return DockerLauncher(connect(), base=base), ""
        case "venv":
            return VenvLauncher(), ""
        case "host":
            return HostLauncher(), ""
        case _:
            try:
                return DockerLauncher(connect(), base=base), ""
            except LevelfieldError as error:
                return VenvLauncher(), error.message
