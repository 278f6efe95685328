"""`levelfield list`: what can be run, readable in a terminal of eighty columns."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from levelfield import plan, plugins, scenarios
from levelfield.backends import precisions, registry
from levelfield.backends.info import PRECISIONS
from levelfield.cli import from_plugins
from levelfield.errors import printable
from levelfield.images.catalogue import lock_names, pythons, unusable, versions
from levelfield.plan.profiles import PROFILES
from levelfield.zoo import models


def show(console: Console) -> None:
    """Print models, backends, profiles, scenarios and precisions."""
    table = _table("Models", "name", "what", "weights", "source")
    for name in plan.names_of_models():
        model = models.get(name)
        table.add_row(name, model.title, f"{model.parameter_count / 1e6:.3g} M", model.source)
    console.print(table)
    backends = [registry.get(name) for name in registry.all_names()]
    table = _table("Backends", "name", "reads", "precisions", "variants")
    for info in backends:
        variants = dict.fromkeys(variant for variant, _ in lock_names(info.image))
        table.add_row(
            info.name,
            info.file_format.title if info.file_format is not None else "own code",
            _precisions_of(info.name),
            ", ".join(variants) or "none locked",
        )
    console.print(table)
    table = _table("Their versions and settings", "name", "image", "versions locked", "settings")
    for info in backends:
        if info.name not in registry.names_on_gpus_only():
            settings = (f"{setting}={' | '.join(values)}" for setting, values in info.settings.items())
            table.add_row(
                info.name, info.image, ", ".join([*versions(info.image), *pythons(info.image)]), "; ".join(settings)
            )
    console.print(table)
    _show_plugins(console)
    table = _table("Profiles", "name", "what")
    for profile in PROFILES.values():
        table.add_row(profile.name, profile.says)
    console.print(table)
    for title, names in (
        ("Scenarios", scenarios.NAMES),
        ("Operators", models.operators()),
        ("Precisions", PRECISIONS),
    ):
        table = _table(title, "")
        table.show_header = False
        table.add_row(", ".join(names))
        console.print(table)


def _show_plugins(console: Console) -> None:
    """Print which distributions bring what, and why some bring nothing; nothing where there are none."""
    brought = [(name, "backend", registry.plugin_of(name)) for name in registry.all_names()]
    brought += [(name, "model", models.plugin_of(name)) for name in models.names()]
    brought += [(name, "command", plugin) for name, (plugin, _) in from_plugins.commands().items()]
    brought += [(plugin.name, "scenarios", plugin) for plugin in plugins.installed(plugins.SCENARIOS)]
    brought += [("data", "data sets", plugin) for plugin in plugins.installed(plugins.DATA_SETS)]
    table = _table("Plug-ins", "name", "what", "distribution")
    for name, kind, plugin in brought:
        if plugin is not None:
            table.add_row(name, kind, plugin.label)
    if table.row_count:
        console.print(table)
    sentences = (each.sentence for each in (*registry.broken(), *models.broken(), *from_plugins.broken()))
    for sentence in (*sentences, *unusable()):
        console.print(f"\n[yellow]{escape(printable(sentence))}[/]", highlight=False)


def _table(title: str, *headings: str) -> Table:
    """Make a table whose names, in its first column, are never cut."""
    table = Table(title=f"\n{title}", title_justify="left", box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for heading in headings:
        table.add_column(heading, overflow="fold", no_wrap=heading == "name")
    return table


def _precisions_of(backend: str) -> str:
    """`fp32, bf16; GPU: tf32, fp16`: on the CPU, and what only a GPU adds."""
    here = precisions.supported(backend)
    there = [name for name in precisions.supported(backend, "cuda") if name not in here]
    return "; ".join(filter(None, (", ".join(here), f"GPU: {', '.join(there)}" if there else "")))
