"""Which launcher a run uses, and why."""

from collections.abc import Iterable

from levelfield.errors import LevelfieldError
from levelfield.images.base import Source
from levelfield.launchers.docker import DockerLauncher, connect
from levelfield.launchers.host import HostLauncher
from levelfield.launchers.protocol import Launcher
from levelfield.launchers.venv import VenvLauncher
from levelfield.machine import engine


def choose(name: str | None, *, base: Source) -> tuple[Launcher, str]:
    """Return the launcher of that name, or the best one that is available, with the reason for it.

    `name`: `docker`, `venv` or `host`; None: docker where an engine answers, else venv. Returns why no engine could be
    used; empty where the user chose, or an engine answers. Raises LevelfieldError: `docker` was named and no engine
    answers; or docker's own configuration names none.
    """
    if name == "venv":
        return VenvLauncher(), ""
    if name == "host":
        return HostLauncher(), ""
    engine.address()  # a context that is missing is a mistake, and no reason to measure otherwise
    try:
        return DockerLauncher(connect(), base=base), ""
    except LevelfieldError as error:
        if name == "docker":
            raise
        return VenvLauncher(), error.message


def launchers_by_name(names: Iterable[str], launcher: Launcher, *, base: Source) -> dict[str, Launcher]:
    """Return the launchers that arms name, by name: the run's own launcher where it is the same kind.

    `names`: launchers that arms name; empty ones, of arms that use the run's, are ignored. Raises LevelfieldError: as
    in `choose`.
    """
    named = dict.fromkeys(name for name in names if name)
    return {name: launcher if name == launcher.kind else choose(name, base=base)[0] for name in named}
