"""Which launcher a run uses, and why."""

from collections.abc import Iterable

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


def beside(names: Iterable[str], launcher: Launcher, *, base: Kind) -> dict[str, Launcher]:
    """Return the launchers that arms name, by name: the run's own where it is the same one.

    Raises
    ------
    LevelfieldError
        As in `choose`.
    """
    wanted = dict.fromkeys(name for name in names if name)
    return {name: launcher if name == launcher.kind else choose(name, base=base)[0] for name in wanted}
