"""Whether `levelfield ab` finds changes of speed that released versions are known to have, and none where none is.

`lock`, `classify` and `freeze` come once, in this order, before `ab` sees any pair;
`run`, which the session does by default, tries `ab` on the frozen list. `classify` and `run` need a quiet machine.
"""

from pathlib import Path
from typing import Any

import click
import msgspec

from studies import commands
from studies.record import existing, settings_of
from studies.regressions import classify as classifying
from studies.regressions import freeze as freezing
from studies.regressions import locks, pairs, rule, trial
from studies.regressions.record import Classes, Record
from studies.regressions.show import classes_markdown, markdown
from suite.cli.options import DURATION, NAMES, PERCENT
from suite.errors import LevelfieldError

only_option = click.option("--only", type=NAMES, default=(), help="Only these pairs, by name; default: all.")


@click.group(context_settings=commands.SETTINGS)
def main() -> None:
    """Try `ab` on released versions whose difference is known: lock, classify, freeze, run."""


@main.command()
def lock() -> None:
    """Lock the versions that are compared, where they have no lock yet."""
    with commands.terminal() as listener:
        locks.make(pairs.read(), listener.say)


@main.command()
@only_option
@click.option("--processes", type=click.IntRange(5), default=rule.PROCESSES, show_default=True, help="Of each version.")
@click.option("--warm", "warm_s", type=DURATION, default="0.3s", show_default=True, help="Unrecorded calls.")
@click.option("--timed", "timed_s", type=DURATION, default="0.7s", show_default=True, help="Timed calls.")
@click.option("--min-calls", type=click.IntRange(1), default=7, show_default=True, help="Timed calls at the least.")
@commands.seed_option
@commands.out_option
@commands.add_option
def classify(only: tuple[str, ...], out: Path | None, *, add: bool, **requested: Any) -> None:  # noqa: ANN401
    """Say by a bare loop, in processes that take turns, which pairs differ."""
    with commands.terminal() as listener:
        out = out or commands.default_path("regressions-classes")
        request = msgspec.convert(requested, classifying.ClassifyRequest)
        before = existing(out, Classes, settings_of(request, "seed"), add=add)
        if before is not None:
            request = msgspec.structs.replace(request, seed=before.seed)
        found = classifying.run(_chosen(only), request, out, listener.say, before)
        listener.show(classes_markdown(found), out)


@main.command()
@click.argument("classes", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--frozen", type=click.Path(path_type=Path), default=pairs.FROZEN, help="File to write.")
def freeze(classes: Path, frozen: Path) -> None:
    """Write the list that `ab` is tried on, from the record CLASSES."""
    with commands.terminal() as listener:
        found = freezing.freeze(classes, frozen)
        listener.say(f"{len(found.pair)} pairs are frozen in {frozen}.")


@main.command()
@only_option
@click.option(
    "--budget", "budget_seconds", type=DURATION, default=None, help="Most time of a pair; default: `ab`'s own."
)
@click.option("--margin", type=PERCENT, default="2%", show_default=True, help="Differences inside it count as none.")
@click.option("--profile", default="standard", show_default=True)
@click.option("--frozen", type=click.Path(path_type=Path), default=pairs.FROZEN, help="The frozen list.")
@commands.out_option
@commands.add_option
def run(only: tuple[str, ...], frozen: Path, out: Path | None, *, add: bool, **requested: Any) -> None:  # noqa: ANN401
    """Run `levelfield ab` on every frozen pair, and count what it finds."""
    with commands.terminal() as listener:
        out = out or commands.default_path("regressions")
        request = msgspec.convert(requested, trial.TrialRequest)
        chosen = pairs.read_frozen(frozen)
        before = existing(out, Record, settings_of(request), add=add)
        if before is not None and before.classes_sha256 != chosen.record_sha256:
            raise LevelfieldError(f"{out} is about another frozen list.", fix="Name another file with --out.")
        kept = tuple(each for each in chosen.pair if not only or each.name in only)
        found = trial.run(msgspec.structs.replace(chosen, pair=kept), request, out, listener.say, before)
        listener.show(markdown(found), out)


def _chosen(only: tuple[str, ...]) -> tuple[pairs.Pair, ...]:
    """Return the pairs of these names, in the order of the list."""
    known = pairs.read()
    unknown = set(only) - {each.name for each in known}
    if unknown:
        raise LevelfieldError(f"There is no pair {min(unknown)}.", fix="Their names are in pairs.toml.")
    return tuple(each for each in known if not only or each.name in only)
