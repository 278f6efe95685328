"""Was it the same hardware? Other hardware may be compared, and is never the reason for a regression."""

from collections.abc import Mapping, Sequence

from suite.comparing.reduction import Reduced

_UNKNOWN = ("not asked", "not known")


def alike(runs: Sequence[Reduced]) -> bool | None:
    """Say whether all runs were made on like hardware; None where a record does not even tell the processor."""
    if any(not _known(run.hardware.get("cpu model", "not asked")) for run in runs):
        return None
    return not any(differences(runs[0].hardware, run.hardware) for run in runs[1:])


def differences(first: Mapping[str, str], second: Mapping[str, str]) -> list[str]:
    """Return what differs between two machines; what one of them does not tell is no difference."""
    return [
        f"{name} ({value} and {second[name]})"
        for name, value in first.items()
        if name in second and value != second[name] and _known(value) and _known(second[name])
    ]


def _known(value: str) -> bool:
    return not value.startswith(_UNKNOWN)
