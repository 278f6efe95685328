"""The findings of the rigor trial in words."""

import msgspec

from studies.rigor import rules
from studies.rigor.record import Stream
from studies.rigor.show import markdown, reaches_goal
from studies.rigor.table import lay_out
from studies.tests.rigor.streams import Machine, stream


def test_the_goal_is_held_against_all_its_parts() -> None:
    one = analyse_in_memory(stream(Machine(launch=0.0005, window=0.001), generations=60))
    good = next(each for each in one.findings if each.rule == "ab --budget 3m")
    assert reaches_goal(good, 180.0)
    assert not reaches_goal(msgspec.structs.replace(good, seconds_most=181.0), 180.0)
    silent = msgspec.structs.replace(good.tallies[0], same=0, inconclusive=good.tallies[0].decisions)
    assert not reaches_goal(msgspec.structs.replace(good, tallies=(silent, *good.tallies[1:])), 180.0)
    assert good.rule in next(line for line in markdown(one).splitlines() if line.startswith("Goal"))


def analyse_in_memory(one: Stream) -> Stream:
    from studies.rigor.findings import find, variance

    seen = lay_out(one.generations)
    return msgspec.structs.replace(one, findings=find(seen, rules.newest()[1]), variance=variance(seen))
