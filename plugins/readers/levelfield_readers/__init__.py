"""Files of other tools that measure, read into records: bounded, decoded by types, and never evaluated."""

from pathlib import Path

import click

from levelfield import terminals
from levelfield.options.registry import REPORTS


@click.command(name="import")
@click.argument("files", nargs=-1, required=True, metavar="FILE…", type=click.Path(path_type=Path))
@REPORTS
def import_(files: tuple[Path, ...], reports: Path) -> None:
    """Make a run of each FILE that another tool wrote.

    `compare`, `history`, `baseline` and the gates take such runs as any other. Nothing in them was checked to be equal,
    and each says what its file does not.

    FILE is the JSON of pyperf, hyperfine, Google Benchmark or pytest-benchmark, mlperf_log_summary.txt of MLPerf
    LoadGen, or benchmark_report.json of optimum-benchmark.
    """
    from levelfield_readers.importing import import_files

    import_files(files, reports, terminals.console())
