"""The answer of `levelfield doctor --json`."""

import msgspec

from levelfield.machine.findings import Finding
from levelfield.run.machine_check import MachineMeasured


class Examined(msgspec.Struct, frozen=True):
    """What was found out about this machine."""

    format: int
    exit_code: int
    """2: something prevents measuring; 0: nothing does."""
    findings: tuple[Finding, ...]
    measured: MachineMeasured | None = None
    """The machine's states (`--measure`); None: they were not measured."""
