"""The small commands: doctor, build, lock, report, clean, schema."""

import json
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape

from suite import plan
from suite.analysis import guarded
from suite.errors import LevelfieldError
from suite.images.base import Kind
from suite.record import files
from suite.report import html, terminal
from suite.run.bench import REPORT
from suite.safety import terminals


def examine(console: Console) -> int:
    """Print what `doctor` finds; return 2 where nothing can be run."""
    from suite.images.catalogue import PYTHON
    from suite.images.cost import estimate
    from suite.machine.doctor import examine as findings
    from suite.machine.findings import Needs
    from suite.paths import cache_root

    try:
        missing_bytes = estimate(plan.all_images(), "docker").download_bytes
    except LevelfieldError:  # no engine: doctor says so itself
        missing_bytes = None
    needs = Needs(python=PYTHON, wheels_missing_bytes=missing_bytes, folders=(str(cache_root()), "."))

    signs = {"ok": "[green]ok  [/]", "warn": "[yellow]note[/]", "bad": "[red]bad [/]"}
    worst = 0
    for finding in findings(needs):
        console.print(
            f"{signs[finding.state]} [bold]{escape(finding.topic)}[/]: {escape(finding.message)}", highlight=False
        )
        if finding.fix and finding.state != "ok":
            console.print(f"     → {escape(finding.fix)}", highlight=False)
        if finding.state == "bad":
            worst = 2
    _show_cuda(console)
    return worst


def _show_cuda(console: Console) -> None:
    """Print which CUDA releases this machine's driver and GPUs can run; nothing where there is no driver."""
    from suite.compatibility import show, table
    from suite.images.catalogue import images
    from suite.images.variants import cuda_variants
    from suite.machine.driver import nvidia

    here = nvidia()
    if here.driver is not None:
        console.print()
        console.print(show.grid(table.read(), here, {name: cuda_variants(name) for name in images()}))


def fitting(names: tuple[str, ...], variant: str, gpu: str | None, console: Console) -> tuple[str, ...]:
    """Spell images to be built with the CUDA variant that was asked for, or that fits; on the CPU as they are."""
    from suite.machine import devices, driver
    from suite.plan import placement

    if variant == "cpu":
        if gpu is not None:
            raise LevelfieldError(
                "--gpu chooses among CUDA variants, and the CPU's are built.", fix="Add --variant auto."
            )
        return names
    wish = placement.DeviceRequest(variant, devices.index_of(gpu) if gpu is not None else None, named=bool(names))
    spelled, said = placement.as_typed(names or plan.all_images(), wish, driver.nvidia())
    for text in said:
        console.print(f"[yellow]{escape(text)}[/]", highlight=False)
    return spelled


def build_images(names: tuple[str, ...], base: Kind, console: Console, export: Path | None = None) -> None:
    """Build the named images (`onnxruntime`, `onnxruntime@1.30.0`), or all; write them into the folder `export`."""
    from suite.images.build import build
    from suite.images.export import export_image
    from suite.record.references import parse

    for name in names or plan.all_images():
        asked = parse(name)
        built = build(
            asked.name,
            asked.variant,
            asked.version,
            base_kind=base,
            progress=lambda text: console.print(f"[dim]{escape(text)}[/]"),
        )
        console.print(f"{name}: {built.tag}", highlight=False)
        if export is not None:
            archive = export_image(built, export, progress=lambda text: console.print(f"[dim]{escape(text)}[/]"))
            terminals.say(console, f"{name}: {archive}")


def lock_images(names: tuple[str, ...], console: Console) -> None:
    """Resolve requirement sets again."""
    from suite.images.locks import relock

    relock(names, progress=lambda text: console.print(f"[dim]{escape(text)}[/]"))


def render(path: Path, console: Console, sign: Path | None = None) -> int:
    """Write the report of a record beside it; with a key, also its statement, signed."""
    from suite.compare.ab import comparison
    from suite.run import ab
    from suite.share import run_evidence

    record = guarded.read(path)
    run, result = record.run, record.analysis
    with guarded.computing(record.name):
        if comparison.LABEL in run.labels:
            found = ab.of_record(path)
            ab.show(found, console, sign=sign)
            return found.comparison.exit_code
        folder = record.file.parent
        evidence, unproven = run_evidence.read_evidence(record.file, run, result, sign)
        files.write_atomically(folder / REPORT, html.render(run, result, evidence=evidence).encode())
        terminal.show(run, result, console)
    terminals.say(console, f"\nReport: {folder / REPORT}")
    if unproven:
        terminals.say(console, unproven, "yellow")
    return result.exit_code


def delete_caches(console: Console, *, yes: bool) -> None:
    """Remove everything that can be made again, once that is confirmed."""
    from suite.images.clean import clean
    from suite.paths import folders_to_clean

    ours, others = folders_to_clean()
    console.print("This deletes all images of Levelfield in the container engine, and from its cache:", highlight=False)
    for folder in ours:
        terminals.say(console, f"  {folder}")
    for folder in others:
        terminals.say(console, f"  not {folder}: Levelfield did not make it")
    if not yes:
        click.confirm("Delete them?", abort=True)
    freed = clean()
    console.print(f"{freed / 2**30:.1f} GiB given back; reports are kept.", highlight=False)


def print_schema() -> None:
    """Print the JSON Schema of a record."""
    print(json.dumps(files.schema(), indent=2))
