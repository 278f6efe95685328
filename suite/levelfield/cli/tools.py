"""The small commands: doctor, build, lock, list, report, clean, schema."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click
from rich.console import Console
from rich.markup import escape

from levelfield.cli import completion
from levelfield.cli.answers.printing import COMMANDS, JSON, print_json
from levelfield.cli.options import BASE, DURATION, GPU, LAUNCHER, PRICE, REPORTS, SIGN
from levelfield.errors import LevelfieldError, printable
from levelfield.safety import terminals

if TYPE_CHECKING:
    from levelfield.machine.findings import Finding
    from levelfield.record.schema import Price
    from levelfield.run.machine_check import MachineMeasured


@click.command()
@click.option("--measure", is_flag=True, help="Also measure the machine's states, and what it can decide.")
@click.option(
    "--for",
    "seconds",
    type=DURATION,
    default="2m",
    show_default=True,
    help="How long --measure takes, images apart; less than a minute shows the states alone.",
)
@LAUNCHER
@BASE
@JSON
def doctor(
    *, measure: bool, seconds: float, launcher: str | None, base: Literal["debian", "registry"], as_json: bool
) -> None:
    """Check this machine: missing parts, sources of disturbance, and fixes.

    With --measure it also probes the machine, which shows how fast it is when it is calm, how often it is not, and the
    smallest difference between two programs that six minutes can decide here. Later runs know calm from it.

    The exit code is 2 if something prevents measuring.
    """
    from levelfield import plan
    from levelfield.cli.answers.examined import Examined
    from levelfield.images.catalogue import PYTHON
    from levelfield.images.cost import estimate
    from levelfield.launchers import needs as of_plan
    from levelfield.machine.doctor import examine as findings
    from levelfield.machine.findings import Needs

    try:
        missing_bytes = estimate(plan.all_images(), "docker").download_bytes
    except LevelfieldError:  # no engine: doctor reports that
        missing_bytes = None
    images = plan.all_images()
    needs = Needs(python=PYTHON, wheels_missing_bytes=missing_bytes, folders=of_plan.folders(images))

    console = terminals.console(stderr=as_json)
    signs = {"ok": "[green]ok  [/]", "warn": "[yellow]note[/]", "bad": "[red]bad [/]"}
    found = (*findings(needs), *of_plan.findings(images), *_broken_plugins())
    worst = 2 if any(finding.state == "bad" for finding in found) else 0
    for finding in found:
        console.print(
            f"{signs[finding.state]} [bold]{escape(finding.topic)}[/]: {escape(finding.message)}", highlight=False
        )
        if finding.fix and finding.state != "ok":
            console.print(f"     → {escape(finding.fix)}", highlight=False)
    _show_cuda(console)
    measured = _measured(seconds, launcher, base, console) if measure and not worst else None
    if as_json:
        print_json(Examined(1, worst, found, measured))
    sys.exit(worst)


def _measured(
    seconds: float, launcher: str | None, base: Literal["debian", "registry"], console: Console
) -> "MachineMeasured":
    """Measure the machine's states and print them."""
    from levelfield.launchers.choice import choose
    from levelfield.report.progress import opened
    from levelfield.run import machine_check, machine_words

    chosen, _ = choose(launcher, base=base)
    with opened(terminals.console(stderr=True)) as listener:
        found = machine_check.measure(chosen, listener, seconds)
    for sentence in machine_words.in_words(found):
        console.print(escape(sentence), highlight=False)
    return found


def _broken_plugins() -> "list[Finding]":
    """Return a finding for each plug-in that brings nothing; the others are used all the same."""
    from levelfield.backends import registry
    from levelfield.images.catalogue import unusable
    from levelfield.machine.findings import Finding
    from levelfield.zoo import models

    fix = "Uninstall that distribution, or install a version that works."
    sentences = (each.sentence for each in (*registry.broken(), *models.broken()))
    return [Finding("plug-in", "warn", printable(each), fix) for each in (*sentences, *unusable())]


def _show_cuda(console: Console) -> None:
    """Print which CUDA releases this machine's driver and GPUs can run; nothing where there is no driver."""
    from levelfield.compatibility import show, table
    from levelfield.images.catalogue import images
    from levelfield.images.variants import cuda_variants
    from levelfield.machine.driver import nvidia

    here = nvidia()
    if here.driver is not None:
        console.print()
        console.print(show.grid(table.read(), here, {name: cuda_variants(name) for name in images()}))


@click.command()
@click.argument("images", nargs=-1, shell_complete=completion.images)
@BASE
@click.option(
    "--export",
    type=click.Path(path_type=Path, file_okay=False),
    help="Also write each image to this folder as an archive for `docker load`, with its bill of materials.",
)
@click.option(
    "--from",
    "source",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Pull the images of this file by digest instead, as `levelfield push` wrote it; default: all of them.",
)
@click.option("--variant", default="cpu", help="cpu, cu12 or cu13; auto: the one that fits this machine's GPU.")
@GPU
def build(
    images: tuple[str, ...],
    base: Literal["debian", "registry"],
    export: Path | None,
    source: Path | None,
    variant: str,
    gpu: str | None,
) -> None:
    """Build IMAGES; default: all that the backends need."""
    from levelfield import plan
    from levelfield.images import published
    from levelfield.images.base import recorded
    from levelfield.images.build import build as build_image
    from levelfield.images.export import export_image
    from levelfield.images.pull import pull
    from levelfield.record.references import parse
    from levelfield.report.progress import steps

    console = terminals.console()
    progress = steps(console)
    names = _fitting(images, variant, gpu, console)
    if source is not None:
        found = pull(published.read(source), map(parse, names), base_source=base, progress=progress)
        names = tuple(map(str, found))
    for name in names or plan.all_images():
        image = parse(name)
        built = build_image(image.name, image.variant, image.version, base_source=base, progress=progress)
        console.print(f"{name}: {built.tag}", highlight=False)
        if export is not None:
            made_of = recorded([built], base)
            terminals.say(console, f"{name}: {export_image(built, export, made_of, progress=progress)}")


def _fitting(names: tuple[str, ...], variant: str, gpu: str | None, console: Console) -> tuple[str, ...]:
    """Return the names of the images with the requested CUDA variant, or the one that fits; for the CPU unchanged."""
    from levelfield import plan
    from levelfield.machine import devices, driver
    from levelfield.plan import placement

    if variant == "cpu":
        if gpu is not None:
            raise LevelfieldError(
                "--gpu chooses among CUDA variants, and the CPU's are built.", fix="Add --variant auto."
            )
        return names
    request = placement.DeviceRequest(variant, devices.index_of(gpu) if gpu is not None else None, named=bool(names))
    fitting, notes = placement.as_typed(names or plan.all_images(), request, driver.nvidia())
    for text in notes:
        console.print(f"[yellow]{escape(text)}[/]", highlight=False)
    return fitting


@click.command()
@click.argument("images", nargs=-1, shell_complete=completion.images)
@click.option(
    "--index", "indexes", metavar="URL", multiple=True, help="Look here for wheels, too, and not on public indexes."
)
@click.option(
    "--find-links", metavar="PLACE", multiple=True, help="The same for a folder of wheels, or a page of links to some."
)
@click.option("--check", is_flag=True, help="Change nothing: list what is outdated or withdrawn in the locks.")
@JSON
def lock(
    images: tuple[str, ...],
    *,
    indexes: tuple[str, ...],
    find_links: tuple[str, ...],
    check: bool,
    as_json: bool,
) -> None:
    """Resolve the requirements of IMAGES again, and lock them.

    Default: everything. `onnxruntime@1.30.0` adds a lock of that version beside the current one, and
    `torch@2.14.1-cuda` one of its CUDA build, to be measured on the CPU. With --check the exit code is 1 if something
    is outdated or withdrawn, and 2 if the package index gave no answer.
    """
    from levelfield.images.locks import relock
    from levelfield.images.registries import Places
    from levelfield.report.progress import steps

    if not check:
        if as_json:
            raise LevelfieldError("--json belongs to --check.", fix="Add --check, or leave it out.")
        relock(images, places=Places(indexes, find_links), progress=steps(terminals.console()))
        return
    if indexes or find_links:
        raise LevelfieldError("--check asks your own indexes.", fix="Leave out --index and --find-links.")
    from levelfield.cli import lock_check

    sys.exit(lock_check.run(images, as_json=as_json))


@click.command(name="list")
@JSON
def list_(*, as_json: bool) -> None:
    """List models, backends, profiles, scenarios and precisions."""
    from levelfield.cli.answers.listed import listed
    from levelfield.cli.listing import show

    if as_json:
        print_json(listed())
    else:
        show(terminals.console())


@click.command()
@click.argument("run", shell_complete=completion.runs)
@REPORTS
@PRICE
@SIGN
@JSON
def report(
    run: str,
    reports: Path,
    price: "Price | None",
    sign: Path | None,
    *,
    as_json: bool,
) -> None:
    """Render the report of a run again, and show its result.

    RUN is a run's id, its folder or its run.json. With --price only the costs are shown, at that price: the record and
    its page stay as they are.
    """
    import dataclasses

    from levelfield.analysis import guarded, money
    from levelfield.cli.answers.measured import Measured, run_of
    from levelfield.compare import sides
    from levelfield.compare.ab import comparison
    from levelfield.report import terminal
    from levelfield.run import ab
    from levelfield.run.results import show_result

    console = terminals.console(stderr=as_json)
    record = guarded.read(sides.find(run, reports))
    with guarded.computing(record.name):
        if price is not None:
            priced = money.at(record.run, price)
            if as_json:
                raise click.UsageError("Costs are shown as a table: leave --json out.")
            for part in terminal.show_costs(priced, dataclasses.replace(record.analysis, run=priced)):
                console.print(part, highlight=False, markup=False)
            return
        if comparison.LABEL in record.run.labels:
            code = ab.show(ab.of_record(record.file), console, measured=False, sign=sign)
        else:
            show_result(record.file, record.run, record.analysis, console, measured=False, sign=sign)
            code = record.analysis.exit_code
    if as_json:
        print_json(Measured(1, code, (run_of(record),)))
    sys.exit(code)


@click.command()
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def clean(*, yes: bool) -> None:
    """Delete images and caches; reports are kept.

    Images, environments, wheels and artifacts are made again when they are needed.
    """
    from levelfield.images.clean import clean as delete
    from levelfield.paths import folders_to_clean

    console = terminals.console()
    ours, others = folders_to_clean()
    console.print("This deletes all images of Levelfield in the container engine, and from its cache:", highlight=False)
    for folder in ours:
        terminals.say(console, f"  {folder}")
    for folder in others:
        terminals.say(console, f"  not {folder}: Levelfield did not make it")
    if not yes:
        click.confirm("Delete them?", abort=True)
    freed = delete()
    console.print(f"{freed / 2**30:.1f} GiB freed; reports are kept.", highlight=False)


@click.command()
@click.argument("what", type=click.Choice(["run", *COMMANDS]), default="run")
def schema(what: str) -> None:
    """Print the JSON Schema of run.json, or of what a command prints with --json."""
    from levelfield.cli.answers import schemas
    from levelfield.record import files

    print(json.dumps(files.schema() if what == "run" else schemas.of(what), indent=2))
