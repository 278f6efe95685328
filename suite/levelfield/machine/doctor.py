"""`levelfield doctor`: check everything that a run needs or that disturbs it, each with a fix."""

from pathlib import Path

from levelfield.machine import driver, quiet, room, toolkit, tools
from levelfield.machine.findings import Finding, Needs
from levelfield.machine.reading import ROOT


def examine(needs: Needs | None = None, root: Path = ROOT) -> list[Finding]:
    """Return all findings, tools first, then room, then noise. Takes a few seconds and changes nothing.

    `needs`: what a run needs of the machine; None: what all frameworks together need.
    """
    needs = needs or Needs()
    engine = tools.container_engine(needs)
    return [
        *engine.findings,
        tools.wheels(needs),
        tools.python_of_locks(needs, engine=engine.answers),
        tools.compiler(engine=engine.answers),
        *driver.findings(),
        *toolkit.findings(engine.facts, driver.nvidia()),
        *room.disks(needs),
        room.memory(needs, root),
        room.cpus(root),
        *room.nodes(root),
        *quiet.now(),
        quiet.load(),
        *quiet.clock(root),
        *quiet.memory(root),
        quiet.layout(root),
        quiet.timer(root),
    ]
