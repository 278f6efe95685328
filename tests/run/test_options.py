"""The options of a run have the same defaults as the command line, but for the device: code names it."""

import msgspec

from levelfield.cli.measure import bench
from levelfield.plan import Selection
from levelfield.run.options import Options, options_of


def test_a_command_without_options_has_the_defaults_of_the_types() -> None:
    typed = options_of(bench.make_context("bench", []).params)
    selection = Selection(variant="auto")
    assert msgspec.structs.replace(typed, command=()) == Options(selection=selection, so_far=True)
