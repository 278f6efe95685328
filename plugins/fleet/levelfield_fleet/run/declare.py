"""What every node of a fleet measures: the options of this call, as words of `levelfield bench` on the nodes."""

import secrets
from collections.abc import Iterator

from rich.console import Console

from levelfield import terminals
from levelfield.errors import LevelfieldError
from levelfield.launchers.needs import choose
from levelfield.options.values import DURATION, PERCENT
from levelfield.paths import tool_sha256
from levelfield.plan.profiles import PROFILES
from levelfield.record.bounds import SEED_BITS
from levelfield.run.options import Options
from levelfield.schedule.outcomes import utc_now
from levelfield.version import __version__
from levelfield_fleet.run import journal
from levelfield_fleet.run.journal import FORMAT, Begun

_TIMES = 3.0
"""A run takes about its budget; one that takes so many times that hangs."""


def declare(name: str, options: Options, console: Console, *, limit_s: float | None = None, repeat: int = 1) -> Begun:
    """Declare what every node measures; nothing is written yet.

    `limit_s`: time that a node's run may take; None: three times its budget. Raises LevelfieldError: no folder can have
    that name, or nodes cannot measure that.
    """
    journal.folder(name, options.reports)
    launcher, reason = choose(options.launcher, base=options.base)
    if reason:
        terminals.say(console, f"{reason} Nodes use virtual environments too; name --launcher docker if they have one.")
    profile = PROFILES.get(options.selection.profile)
    budget_s = options.budget_seconds or (profile.budget_seconds if profile is not None else 0.0)
    return Begun(
        format=FORMAT,
        name=name,
        at=utc_now(),
        tool_version=__version__,
        tool_sha256=tool_sha256(),
        selection=options.selection,
        words=words(options, launcher.kind),
        launcher=launcher.kind,
        base=options.base,
        identify=options.identify,
        limit_s=limit_s if limit_s is not None else _TIMES * budget_s,
        fleet=secrets.token_hex(8),
        seed=options.seed if options.seed is not None else secrets.randbits(SEED_BITS),
        repeat=repeat,
    )


def check_tool(begun: Begun) -> None:
    if begun.tool_sha256 != tool_sha256():
        raise LevelfieldError(
            f"The fleet {begun.name} was begun with Levelfield {begun.tool_version} ({begun.tool_sha256[:12]}), and "
            f"this is {__version__} ({tool_sha256()[:12]}): what measures must stay the same.",
            fix="Use that one again, or begin another fleet.",
        )


def words(options: Options, launcher: str) -> tuple[str, ...]:
    """Return the words of `levelfield bench` on a node, without its folder of reports and its seed.

    Raises LevelfieldError: the options name a file or a folder of this machine.
    """
    chosen = options.selection
    if chosen.own is not None or chosen.own_weights or options.data_sets:
        raise LevelfieldError(
            "A file or folder of your own is not sent to nodes.",
            fix="Measure it with `levelfield bench` on each node, and judge with `levelfield fleet gather`.",
        )
    return tuple(_words(options, launcher))


def _words(options: Options, launcher: str) -> Iterator[str]:
    chosen = options.selection
    values = {
        "--profile": chosen.profile,
        "--models": ",".join(chosen.models),
        "--backends": ",".join(chosen.backends),
        "--scenarios": ",".join(chosen.scenarios),
        "--precision": ",".join(chosen.precisions),
        "--batch": ",".join(map(str, chosen.batches)),
        "--threads": ",".join(map(str, chosen.threads)),
        "--processes": ",".join(map(str, chosen.processes)),
        "--depths": ",".join(map(str, chosen.depths)),
        "--kv-cache": ",".join(chosen.kv_caches),
        "--control": chosen.control,
        "--inject": "@".join(chosen.inject or ()),
        "--variant": chosen.variant,
        "--gpu": chosen.gpu,
        "--launcher": launcher,
        "--base": options.base,
        "--budget": options.budget_seconds and DURATION.write(options.budget_seconds),
        "--precision-target": options.precision_target and PERCENT.write(options.precision_target),
        "--margin": PERCENT.write(options.margin),
        "--target": options.target and PERCENT.write(options.target),
    }
    for name, value in values.items():
        if value not in (None, ""):
            yield from (name, str(value))
    if options.identify:
        yield "--identify"
