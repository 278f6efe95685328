"""A small record for tests of tables, and its tables as they are read again from CSV."""

import csv
import io

from levelfield import analysis
from levelfield.record.schema import Run
from levelfield.report.export import columns_of, rows, write_csv
from tests.records_builder import make_run


def record() -> Run:
    return make_run(models=("mlp",), backends=("jax", "openvino"), generations=5, rounds=2, max_calls=7, control="jax")


def table(name: str, made: Run) -> list[dict[str, str]]:
    stream = io.StringIO()
    write_csv(stream, columns_of(name), rows(name, made, analysis.analyse(made)))
    return list(csv.DictReader(io.StringIO(stream.getvalue())))
