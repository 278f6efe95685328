"""What `levelfield upgrade` says of a machine that really reboots into another kernel, and whose power is cut.

A Debian guest runs in QEMU, without KVM, so any machine with root will do. Two upgrades are
made from beginning to verdict, each old, new, old: one whose calls are 20 % slower under the new kernel, and one
without any change of ours, whose power is cut at ten random moments.
"""

import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import click
import msgspec

from levelfield.machine.fingerprint import fingerprint
from levelfield.options.values import PERCENT
from levelfield.schedule.outcomes import utc_now
from levelfield.version import __version__
from studies import commands
from studies.reboots import series, system
from studies.reboots.record import Record, find, markdown
from studies.reboots.series import Order

PLAN = (
    f"--launcher host --profile standard --budget 45s --models {system.MODEL} --scenarios latency --threads 1 "
    "--backends onnxruntime --control none"
)
"""Options of `levelfield upgrade begin`: a short run, of a profile whose runs are judged."""


def orders(boots: int, slowdown: float, cuts: int, seed: int) -> tuple[Order, ...]:
    """Return the series in their order."""
    return (Order("slowdown", boots, PLAN, slowdown=slowdown), Order("power cuts", boots, PLAN, cuts=cuts, seed=seed))


def run(
    keep: commands.Keep[Record],
    listener: commands.Terminal,
    *,
    boots: int,
    slowdown: float,
    cuts: int,
    seed: int,
    work: Path | None,
) -> Record:
    """Make all series; the record is written after each."""
    now = utc_now()
    with tempfile.TemporaryDirectory(prefix="levelfield-reboots-") as name:
        folder = Path(name) if work is None else work
        folder.mkdir(parents=True, exist_ok=True)
        image = folder / "disk.img"
        kernels = system.make(image, listener.say)
        record = Record(
            schema=Record.SCHEMA,
            started=now,
            finished=now,
            tool_version=__version__,
            machine=fingerprint(tuple(sorted(os.sched_getaffinity(0)))),
            seed=seed,
            boots_each=boots,
            plan=PLAN,
            emulator=_emulator(),
            packages=dict((system.OLD, system.NEW)),
        )
        for order in orders(boots, slowdown, cuts, seed):
            copy = folder / f"{order.name}.img"
            subprocess.run(["cp", "--sparse=always", str(image), str(copy)], check=True)
            made = series.run(order, copy, kernels, folder, listener.say)
            record = msgspec.structs.replace(record, series=(*record.series, made), finished=utc_now())
            keep(record)
    return record


def _emulator() -> str:
    shown = subprocess.run(["qemu-system-x86_64", "--version"], capture_output=True, text=True, check=True)
    return shown.stdout.splitlines()[0].partition(" (")[0]


def analyse(record: Record) -> Record:
    """Return a record with its findings."""
    return msgspec.structs.replace(record, findings=find(record.series))


@click.command(context_settings=commands.SETTINGS)
@click.option("--boots", type=click.IntRange(1), default=3, show_default=True, help="In each phase.")
@click.option("--slowdown", type=PERCENT, default="20%", show_default=True, help="Of calls under the new kernel.")
@click.option("--cuts", type=click.IntRange(0), default=10, show_default=True, help="Of the power.")
@click.option("--work", type=click.Path(path_type=Path, file_okay=False), help="Keep disks, consoles and runs here.")
@commands.seed_option
@commands.out_option
@commands.analyse_option
def main(out: Path | None, only: Path | None, **requested: Any) -> None:  # noqa: ANN401
    """Upgrade the kernel of an emulated machine, twice: with a slowdown, and with power cuts."""
    record = commands.conduct(Record, partial(run, **requested), analyse, markdown, out=out, only=only)
    sys.exit(0 if all(each.holds for each in record.findings) else 1)


if __name__ == "__main__":
    main()
