"""Measure a stream, and add it to the record."""

import shutil
from pathlib import Path

import click
import msgspec

from levelfield import plan
from levelfield.errors import LevelfieldError
from levelfield.plan import arms
from levelfield.record import journal
from levelfield.record.files import JOURNAL
from levelfield.run.options import Options
from levelfield.run.start import start_run
from levelfield.schedule.run import RunInProgress
from studies import commands
from studies.streams.findings import markdown
from studies.streams.record import Streams, generation_seconds, stream_of

BACKENDS = ("onnxruntime", "openvino")
INJECTED = ("", "1%", "2%", "5%")
"""Into the second arm of a pair."""


def planned(model: str) -> plan.Plan:
    """Plan the pairs, neighbours in the order of the arms."""
    chosen = [
        msgspec.structs.replace(arms.parse(backend), inject=amount)
        for backend in BACKENDS
        for injected in INJECTED
        for amount in ("", injected)
    ]
    selected = plan.Selection(models=(model,), scenarios=("latency",))
    return plan.with_timed_launches(plan.several(selected, chosen), 1)


def measure(chosen: plan.Plan, seconds: float, seed: int, folder: Path, terminal: commands.Terminal) -> None:
    """Measure generations for some time, and leave the run's journal in a folder of its own."""
    options = Options(reports=folder, budget_seconds=seconds, ends_on_verdict=True, seed=seed)
    with commands.prepared(chosen, terminal) as (_, resources):
        begun = start_run(chosen, options, resources)
        never = {block.case.id: "a stream is judged afterwards" for block in chosen.blocks}
        RunInProgress(begun, resources, terminal, undecided=lambda _: never).measure()


def collect(record: Streams, folder: Path, out: Path) -> Streams:
    """Add the runs in a folder to a record, finished or cut off; write it, and remove them."""
    known = {stream.run for stream in record.streams}
    for path in sorted(folder.glob(f"*/{JOURNAL}")):
        with journal.Journal(path):  # refused where another process is measuring
            events = journal.read(path)
        stream = stream_of(journal.fold(events), generation_seconds(events))
        if stream is not None and stream.run not in known:
            record = msgspec.structs.replace(record, streams=(*record.streams, stream))
    commands.write(record, out, markdown(record), indent=-1)
    shutil.rmtree(folder, ignore_errors=True)
    return record


@click.command(context_settings=commands.SETTINGS)
@click.option("--minutes", type=click.FloatRange(0), default=20, show_default=True, help="0: only write the tables.")
@click.option("--model", default="resnet50", show_default=True, help="Its latency is measured.")
@commands.seed_option
@commands.out_option
def main(minutes: float, model: str, seed: int, out: Path | None) -> None:
    """Measure a stream of pairs and add it to the newest record, after what an interrupted one has left."""
    with commands.terminal() as terminal:
        out = out or max(commands.FOLDER.glob("streams-*.json"), default=commands.default_path(Streams.TRIAL))
        chosen = planned(model)
        case = chosen.blocks[0].case.id
        record = commands.read(out, Streams) if out.exists() else Streams(schema=Streams.SCHEMA, case=case)
        if record.case != case:
            raise LevelfieldError(f"{out} is of {record.case}, not of {case}.", fix="Name another file with --out.")
        folder = out.with_suffix(".unfinished")
        record = collect(record, folder, out)
        try:
            if minutes:
                measure(chosen, 60 * minutes, seed, folder, terminal)
        finally:
            record = collect(record, folder, out)
        terminal.show(markdown(record), out)


if __name__ == "__main__":
    main()
