"""`levelfield doctor`, `list` and `plugins`: what is here, what can be run, and what installed distributions bring."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from levelfield import terminals
from levelfield.errors import LevelfieldError, printable
from levelfield.names import unknown
from levelfield.options.registry import BASE, JSON, LAUNCHER
from levelfield.options.values import DURATION

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from levelfield.cli.json import Listed
    from levelfield.images.base import Source
    from levelfield.machine.findings import Finding
    from levelfield.prepare.own_model.listing import File
    from levelfield.run.machine_check import MachineMeasured

LISTS = ("models", "backends", "profiles", "scenarios", "operators", "precisions")


class _Listed(click.Choice[str]):
    """A kind of name, or a file: names of kinds have neither dots nor slashes."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if "." in value or "/" in value:
            return value
        if value not in self.choices:
            raise unknown("list", value, self.choices)
        return super().convert(value, param, ctx)


@click.command()
@click.option("--measure", is_flag=True, help="Also measure the machine's states, and what it can decide.")
@click.option(
    "--for",
    "seconds",
    type=DURATION,
    default="2m",
    help="How long --measure takes, images apart; less than a minute shows the states alone.",
)
@LAUNCHER
@BASE
@JSON
def doctor(*, measure: bool, seconds: float, launcher: str | None, base: "Source", as_json: bool) -> None:
    """Check this machine: missing parts, sources of disturbance, and fixes.

    With --measure it also probes the machine, which shows how fast it is when it is calm, how often it is not, and the
    smallest difference between two programs that six minutes can decide here. Later runs know calm from it.

    The exit code is 2 if something prevents measuring.
    """
    from levelfield import plan
    from levelfield.images.build import estimate
    from levelfield.images.catalogue import PYTHON
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
    ready = "Not ready: mend what is bad first." if worst else "Ready: `levelfield bench` can measure here."
    console.print(ready, highlight=False)
    measured = _measured(seconds, launcher, base, console) if measure and not worst else None
    if as_json:
        from levelfield.cli.json import Examined, print_json

        print_json(Examined(1, worst, found, measured))
    sys.exit(worst)


def _measured(seconds: float, launcher: str | None, base: "Source", console: Console) -> "MachineMeasured":
    from levelfield.launchers.needs import choose
    from levelfield.report.progress import opened
    from levelfield.run import machine_check

    chosen, _ = choose(launcher, base=base)
    with opened(terminals.console(stderr=True)) as listener:
        found = machine_check.measure(chosen, listener, seconds)
    for sentence in machine_check.in_words(found):
        console.print(escape(sentence), highlight=False)
    return found


def _broken_plugins() -> "list[Finding]":
    """Return a finding for each plug-in that brings nothing; the others are used all the same."""
    from levelfield.machine.findings import Finding

    fix = "Uninstall that distribution, or install a version that works."
    return [Finding("plug-in", "warn", printable(sentence), fix) for sentence in broken_plugins()]


@click.command(name="list")
@click.argument("what", type=_Listed(LISTS), required=False, metavar=f"[{'|'.join((*LISTS, 'FILE.onnx'))}]")
@JSON
def list_(what: str | None, *, as_json: bool) -> None:
    """List models, backends, profiles, scenarios, operators and precisions, or WHAT of these.

    WHAT may be an ONNX file of your own: its inputs, sizes that are missing, its precision, its operators, and why it
    cannot be measured.
    """
    from levelfield.cli.json import Listed, listed, print_json
    from levelfield.prepare.own_model import listing

    answer = listed(what or "") if what in (None, *LISTS) else Listed(format=1, file=listing.read(Path(what)))
    if as_json:
        print_json(answer)
    else:
        _show_listed(answer, terminals.console())


def _show_listed(answer: "Listed", console: Console) -> None:
    """Print what can be run, readable in a terminal of eighty columns."""
    from levelfield.backends import registry

    if answer.file is not None:
        _show_file(answer.file, console)
    _show(
        console,
        "Models",
        ("name", "what", "weights", "source"),
        ((model.name, model.title, f"{model.parameters / 1e6:.3g} M", model.source) for model in answer.models),
    )
    _show(
        console,
        "Backends",
        ("name", "reads", "precisions", "variants"),
        (
            (
                backend.name,
                read.title if (read := registry.get(backend.name).file_format) is not None else "own code",
                _precisions_of(backend.precisions_cpu, backend.precisions_gpu),
                ", ".join(backend.variants) or "none locked",
            )
            for backend in answer.backends
        ),
    )
    _show(
        console,
        "Their versions and settings",
        ("name", "image", "versions locked", "settings"),
        (
            (
                backend.name,
                backend.image,
                ", ".join(backend.versions),
                "; ".join(f"{setting}={' | '.join(values)}" for setting, values in backend.settings.items()),
            )
            for backend in answer.backends
            if backend.name not in registry.names_on_gpus_only()
        ),
    )
    _show(console, "Profiles", ("name", "what"), ((profile.name, profile.summary) for profile in answer.profiles))
    for title in ("Scenarios", "Operators", "Precisions"):
        names = getattr(answer, title.lower())
        _show(console, title, ("",), [(", ".join(names),)] if names else [])


def _show_file(file: "File", console: Console) -> None:
    console.print(
        escape(f"{file.file}: {file.size_bytes:,} bytes, {file.precision}, operator set {file.opset}, IR {file.ir}"),
        highlight=False,
    )
    for title, values in (("Inputs", file.inputs), ("Outputs", file.outputs)):
        rows = ((escape(each.name), each.type, escape(" × ".join(map(str, each.shape)))) for each in values)
        _show(console, title, ("", "type", "shape"), rows)
    called = ", ".join(f"{name} {count}" for name, count in file.operators.items())
    facts = (
        ("batch", file.batch or "none: a call is one item"),
        ("sizes that are missing", ", ".join(file.missing)),
        ("operators", called),
        ("weights beside it", ", ".join(file.beside)),
        *(("refused", reason) for reason in file.refused),
        ("measured by", "" if file.refused else file.command),
    )
    _show(console, "What it is", ("", ""), ((fact, escape(text)) for fact, text in facts if text))


def _show(console: Console, title: str, headings: "Sequence[str]", rows: "Iterable[Sequence[str]]") -> None:
    """Print a table, unless it is empty; names, in its first column, are never cut."""
    table = Table(
        title=f"\n{title}",
        title_justify="left",
        box=None,
        padding=(0, 2, 0, 0),
        pad_edge=False,
        show_header=any(headings),
    )
    for heading in headings:
        table.add_column(heading, overflow="fold", no_wrap=heading == "name")
    for row in rows:
        table.add_row(*row)
    if table.row_count:
        console.print(table)


def _precisions_of(here: "Sequence[str]", on_gpu: "Sequence[str]") -> str:
    """`fp32, bf16; GPU: tf32, fp16`: on the CPU, and what only a GPU adds."""
    there = [name for name in on_gpu if name not in here]
    return "; ".join(filter(None, (", ".join(here), f"GPU: {', '.join(there)}" if there else "")))


_CHECKED = {"passed": "[green]passed[/]", "failed": "[bold red]failed[/]", "not asked": "[yellow]not asked[/]"}


@click.group()
def plugins() -> None:
    """List plug-ins, or check a backend."""


@plugins.command(name="list")
def list_plugins() -> None:
    """List what distributions bring, and why some bring nothing."""
    from levelfield import plugins as entries
    from levelfield.backends import registry
    from levelfield.cli import help as sections
    from levelfield.zoo import models

    console = terminals.console()
    brought = [(name, "backend", registry.plugin_of(name)) for name in registry.all_names()]
    brought += [(name, "model", models.plugin_of(name)) for name in models.names()]
    brought += [(name, "command", plugin) for name, (plugin, _) in sections.commands().items()]
    brought += [(plugin.name, "scenarios", plugin) for plugin in entries.installed(entries.SCENARIOS)]
    brought += [("data", "data sets", plugin) for plugin in entries.installed(entries.DATA_SETS)]
    for name, kind, plugin in brought:
        if plugin is not None:
            terminals.say(console, f"{kind} {name}: {plugin.label}")
    for sentence in broken_plugins():
        terminals.say(console, sentence, "yellow")


def broken_plugins() -> list[str]:
    """Say of each plug-in that brings nothing why."""
    from levelfield.backends import registry
    from levelfield.cli import help as sections
    from levelfield.images.catalogue import unusable
    from levelfield.zoo import models

    reasons = (*registry.broken(), *models.broken(), *sections.broken())
    return [*(reason.sentence for reason in reasons), *unusable()]


@plugins.command()
@click.argument("backend")
@click.option(
    "--model", default="mlp", help="Model to check it with; one with large weights shows whether it frees them."
)
@LAUNCHER
@BASE
def check(backend: str, model: str, launcher: str | None, base: "Source") -> None:
    """Check that BACKEND keeps what is asked of every backend: for whoever writes one.

    Workers load it in every precision that it has. They must answer as the reference does, keep to their threads, free
    what they loaded before, and refuse what they cannot do with a reason.

    Exit codes: 0 everything passed; 1 something failed; 2 it could not be checked.
    """
    from levelfield.launchers.needs import choose
    from levelfield.report.progress import opened
    from levelfield.run import contract

    progress, console = terminals.console(stderr=True), terminals.console()
    chosen, reason = choose(launcher, base=base)
    if reason:
        progress.print(f"[bold yellow]{escape(reason)}[/] It runs in virtual environments instead.", highlight=False)
    chosen.sweep()
    failed = 0
    with opened(progress) as listener:
        for each in contract.check(backend, model, chosen, listener):
            failed += each.state == "failed"
            detail = escape(printable(each.detail))
            console.print(f"{_CHECKED[each.state]} {escape(each.name)}: {detail}", highlight=False, soft_wrap=True)
    console.print(f"{backend}: {failed} failed." if failed else f"{backend} keeps the contract.", markup=False)
    sys.exit(1 if failed else 0)
