"""What could end the measurement of a run's blocks, from its settings."""

from levelfield.record.schema import Case, Settings
from levelfield.statistics.student import EndedBy


def ended_by(settings: Settings, case: Case) -> EndedBy:
    """Return what was allowed to decide how many launches a case has.

    Neither a budget nor the clock depends on results, and neither counts. Earlier versions let arms leave that were
    surely behind (`races`) until the lead of the others was precise: recomputed as ended by precision, their intervals
    miss in 4.4 to 5.2 % where 5 % is stated.
    """
    if settings.precision_target is not None or (settings.races and case.timed):
        return EndedBy.PRECISION
    return EndedBy.VERDICT if settings.ends_on_verdict and case.timed else EndedBy.PLAN
