"""Whether `levelfield ab` finds changes of speed that released versions are known to have, and none where none is.

It tries `ab` on the frozen list; it wants a quiet machine.
"""

from pathlib import Path
from typing import Any

import click
import msgspec

from studies import commands
from studies.regressions import pairs, trial
from studies.regressions.record import markdown
from suite.cli.options import DURATION, NAMES, PERCENT


@click.command(context_settings=commands.SETTINGS)
@click.option("--only", type=NAMES, default=(), help="Only these pairs, by name; default: all.")
@click.option(
    "--budget", "budget_seconds", type=DURATION, default=None, help="Most time of a pair; default: `ab`'s own."
)
@click.option("--margin", type=PERCENT, default="2%", show_default=True, help="Differences inside it count as none.")
@click.option("--profile", default="standard", show_default=True)
@click.option("--frozen", type=click.Path(path_type=Path), default=pairs.FROZEN, help="The frozen list.")
@commands.out_option
@commands.add_option
def main(only: tuple[str, ...], frozen: Path, out: Path | None, *, add: bool, **requested: Any) -> None:  # noqa: ANN401
    """Run `levelfield ab` on every frozen pair, and count what it finds."""
    with commands.terminal() as listener:
        out = out or commands.default_path("regressions")
        request = msgspec.convert(requested, trial.TrialRequest)
        chosen = pairs.read_frozen(frozen)
        before = trial.existing(out, request, chosen, add=add)
        kept = tuple(each for each in chosen.pair if not only or each.name in only)
        found = trial.run(msgspec.structs.replace(chosen, pair=kept), request, out, listener.say, before)
        listener.show(markdown(found), out)


if __name__ == "__main__":
    main()
