"""Help in sections: the commands of `levelfield`, and the options of the commands that measure."""

from collections.abc import Mapping, Sequence

import click

COMMANDS: Mapping[str, Sequence[str]] = {
    "Measure": ("bench", "ab", "upgrade", "reproduce", "explain"),
    "Compare and follow runs": ("compare", "baseline", "history"),
    "Reports": ("report", "verify", "card", "export", "publish"),
    "Machine and images": ("doctor", "list", "build", "push", "lock", "contract", "bundle", "unbundle", "clean"),
    "For shells and programs": ("config", "completion", "schema"),
}
"""Names of commands by section, each section in the order in which its commands are used."""
OPTIONS: Mapping[str, Sequence[str]] = {
    "What to measure": (
        *("models", "own", "dims", "values", "module", "weights", "scenarios", "precisions", "batches"),
        *("depths", "kv_caches", "data", "data_items", "target", "latency_target_ms", "loadgen_test_s"),
    ),
    "Arms": ("backends", "variant", "control", "alternate", "inject"),
    "How long and how sure": (
        *(
            "profile",
            "budget_seconds",
            "until_seconds",
            "so_far",
            "precision_target",
            "margin",
            "max_slowdown",
            "repeat",
            "resume",
            "seed",
        ),
        *("strict", "bisect", "why"),
    ),
    "Machine": ("threads", "cpus", "processes", "gpu", "launcher", "base"),
    "Results": ("reports", "output", "as_json", "sign", "identify", "price"),
}
"""Names of parameters by section."""
OTHER, PLUGINS = "Other", "From plug-ins"
"""The sections of what no section names: of options, and of commands."""


class SectionedGroup(click.Group):
    """A group whose help lists its commands in sections."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, section by section."""
        commands = {name: command for name in self.list_commands(ctx) if (command := self.get_command(ctx, name))}
        limit = formatter.width - 6 - max(map(len, commands))
        for title, names in sections_of(
            COMMANDS, [name for name, each in commands.items() if not each.hidden], PLUGINS
        ):
            with formatter.section(title):
                formatter.write_dl([(name, commands[name].get_short_help_str(limit)) for name in names])


class SectionedCommand(click.Command):
    """A command whose help lists its options in sections."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, section by section."""
        records = {
            each.name or "": record
            for each in self.get_params(ctx)
            if isinstance(each, click.Option) and (record := each.get_help_record(ctx)) is not None
        }
        for title, names in sections_of(OPTIONS, list(records)):
            with formatter.section(title):
                formatter.write_dl([records[name] for name in names])


def sections_of(
    sections: Mapping[str, Sequence[str]], names: Sequence[str], other: str = OTHER
) -> list[tuple[str, list[str]]]:
    """Return each section with those of its names that are there; what is in none comes last."""
    found = [(title, [name for name in listed if name in names]) for title, listed in sections.items()]
    placed = {name for listed in sections.values() for name in listed}
    found.append((other, [name for name in names if name not in placed]))
    return [(title, listed) for title, listed in found if listed]
