"""What is planned where a stranger's run is measured again."""

from suite.plan import make, with_launches
from suite.run.reproduce import intent
from tests.run.reproduce.records import known, record


def test_more_launches_are_planned() -> None:
    chosen = make(intent.read(known(record("theirs"))).selection, available=[0, 1])
    more = with_launches(chosen, 7)
    assert {block.planned_generations for block in more.blocks} == {7}
    assert with_launches(chosen, None) is chosen
    assert [block.planned_generations for block in with_launches(chosen, 2).blocks] == [
        max(2, block.planned_generations) for block in chosen.blocks
    ]
