r"""What calls `levelfield upgrade next` at every boot: a systemd unit, or a line for crontab.

References
----------
systemd.service(5), systemd.exec(5) and systemd.syntax(7): in a command line `%` and `$` are doubled, and words stand in
double quotes with backslashes before `"` and `\\`. crontab(5): `%` ends a command unless a backslash stands before it.
"""

import getpass
import shlex
import sys
from pathlib import Path

import msgspec

from suite.errors import LevelfieldError

SETTLE_S = 120
"""Seconds after which a boot is measured: services that start with the machine disturb what is measured."""
_UNIT = """\
# Install: sudo cp {file} /etc/systemd/system/ && sudo systemctl enable {file}
# Remove, once the upgrade is done: sudo systemctl disable --now {file}
[Unit]
Description=Levelfield: measure this boot of the upgrade {name}
After=multi-user.target docker.service time-sync.target
Wants=time-sync.target

[Service]
Type=oneshot
User={user}
WorkingDirectory={folder}
ExecStartPre=/bin/sleep {settle_s}
ExecStart={command}
TimeoutStartSec=infinity
TimeoutStopSec=60

[Install]
WantedBy=multi-user.target
"""


class Call(msgspec.Struct, frozen=True):
    """One call of the command, as a boot makes it."""

    name: str
    """Of the upgrade."""
    words: tuple[str, ...]
    """The first is an absolute path."""
    folder: str
    """Absolute; the working directory."""
    user: str


def call_of(name: str, reports: Path) -> Call:
    """Return the call that measures a boot of an upgrade, by this interpreter and user, in this folder.

    Parameters
    ----------
    name, reports
        Of the upgrade, and the folder of run folders.

    Raises
    ------
    LevelfieldError
        A path holds a line break.
    """
    words = (sys.executable, "-m", "suite.cli", "upgrade", "next", name, "--reports", str(reports.absolute()))
    found = Call(name=name, words=words, folder=str(Path.cwd()), user=getpass.getuser())
    if any("\n" in each for each in (*found.words, found.folder, found.user)):
        raise LevelfieldError(
            "A path with a line break cannot stand in a unit or a crontab.", fix="Rename the folder, and try again."
        )
    return found


def file_name(name: str) -> str:
    """Return the name of the unit's file."""
    return f"levelfield-upgrade-{name}.service"


def systemd_unit(call: Call) -> str:
    """Return the unit."""
    return _UNIT.format(
        file=file_name(call.name),
        name=call.name,
        user=call.user,
        folder=call.folder.replace("%", "%%"),
        settle_s=SETTLE_S,
        command=" ".join(map(_quoted, call.words)),
    )


def _quoted(word: str) -> str:
    for special, written in (("\\", "\\\\"), ('"', '\\"'), ("%", "%%"), ("$", "$$")):
        word = word.replace(special, written)
    return f'"{word}"'


def cron_line(call: Call) -> str:
    """Return the line for the crontab of the user who measures."""
    command = f"sleep {SETTLE_S} && cd {shlex.quote(call.folder)} && {shlex.join(call.words)}"
    return f"@reboot {command.replace('%', chr(92) + '%')}\n"


def how_to_install(file: Path, *, cron: bool) -> str:
    """Say in one sentence what to do with a file that was written.

    Parameters
    ----------
    file
        Where it is.
    cron
        It holds a line for crontab, and not a unit.
    """
    if cron:
        return f"Add its line to your crontab: (crontab -l; cat {shlex.quote(str(file))}) | crontab -"
    return f"Install it: sudo cp {shlex.quote(str(file))} /etc/systemd/system/ && sudo systemctl enable {file.name}"
