"""What could end the measurement of a run's blocks, from its settings."""

from suite.record.schema import Case, Settings
from suite.statistics.ending import EndedBy


def ended_by(settings: Settings, case: Case) -> EndedBy:
    """Return what was allowed to decide how many launches a case has.

    A budget does not depend on results, and does not count.

    Parameters
    ----------
    settings
        Of the run.
    case
        Verdicts end cases of timed windows only: cold starts and peak memory have as many launches as were planned.
    """
    if settings.precision_target is not None:
        return EndedBy.PRECISION
    if settings.races and case.timed:
        return EndedBy.RACE
    return EndedBy.VERDICT if settings.ends_on_verdict and case.timed else EndedBy.PLAN
