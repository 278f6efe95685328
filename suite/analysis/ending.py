"""What could end the measurement of a run's blocks, from its settings."""

from suite.record.schema import Settings
from suite.statistics.ending import EndedBy


def ended_by(settings: Settings) -> EndedBy:
    """Return what was allowed to decide how many launches a run has.

    A budget looks at no result, so it does not count.
    """
    if settings.precision_target is not None:
        return EndedBy.PRECISION
    return EndedBy.VERDICT if settings.ends_on_verdict else EndedBy.PLAN
