"""The options that name a user's own file, for every command that takes one."""

from pathlib import Path

import click

from suite.options import SIZE, VALUES

OWN_FILE = click.option(
    "--model",
    "own",
    metavar="FILE.onnx",
    type=click.Path(path_type=Path),
    default=None,
    help="An ONNX file of your own, in the place of models, for all backends that read such files.",
)
OWN_SIZES = click.option(
    "--dim",
    "dims",
    metavar="NAME=SIZE",
    type=SIZE,
    multiple=True,
    help="How long a dimension of that file is that says no size; the batch it begins with needs none.",
)
OWN_VALUES = click.option(
    "--input",
    "values",
    metavar="NAME=FILE.npy",
    type=VALUES,
    multiple=True,
    help="Values for an input of that file; otherwise they are seeded.",
)
