"""What was allowed to decide how many launches there are: intervals and p values pay for it."""

import enum


class EndedBy(enum.StrEnum):
    """What could end the measurement of a block."""

    PLAN = "plan"
    """Nothing that was measured: the number of launches was fixed."""
    PRECISION = "precision"
    """The width of intervals."""
    VERDICT = "verdict"
    """A verdict, looked for after every launch: a significant difference, or equivalence."""
