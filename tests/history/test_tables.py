"""The tables of a store hold what a summary holds, so that a team can query them."""

from suite.history.summary import Result, Summary
from suite.history.tables import Base, ResultRow, RunRow


def test_the_tables_have_the_names_that_the_documentation_gives() -> None:
    assert set(Base.metadata.tables) == {
        "environment_facts",
        "environment_groups",
        "levelfield",
        "results",
        "run_environments",
        "runs",
    }


def test_a_result_is_kept_whole() -> None:
    assert set(ResultRow.__table__.columns.keys()) == {"run", *Result.__struct_fields__}


def test_a_run_is_kept_but_for_what_has_tables_of_its_own() -> None:
    elsewhere = {"schema", "results", "environment", "controls", "seal"}
    assert set(RunRow.__table__.columns.keys()) == {"number", *Summary.__struct_fields__} - elsewhere
