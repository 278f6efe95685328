"""Whether two sides ran on the same hardware. Other hardware may be compared, and never counts as a regression."""

from collections.abc import Mapping, Sequence

from suite.compare.reduction import Reduced

_UNKNOWN = ("not asked", "not known")


def alike(runs: Sequence[Reduced]) -> bool | None:
    """Return whether all runs were made on like hardware; None where a record does not name the processor."""
    if any(not _known(run.hardware.get("cpu model", "not asked")) for run in runs):
        return None
    return not any(differences(runs[0].hardware, run.hardware) for run in runs[1:])


def differences(first: Mapping[str, str], second: Mapping[str, str]) -> list[str]:
    """Return what differs between two machines.

    Parameters
    ----------
    first, second
        Facts of the hardware by name. A fact that one of them lacks is no difference.

    Returns
    -------
    list of str
        One phrase each; empty where nothing is known to differ.
    """
    return [
        f"{name} ({value} and {second[name]})"
        for name, value in first.items()
        if name in second and value != second[name] and _known(value) and _known(second[name])
    ]


def _known(value: str) -> bool:
    return not value.startswith(_UNKNOWN)
