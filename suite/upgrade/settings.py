"""Which software stack and which machine a fingerprint shows."""

from collections.abc import Iterable

from suite.record.schema import Absent, Fingerprint

_STACK = (
    ("kernel", "release"),
    ("kernel", "version"),
    ("cpu", "microcode"),
    ("system", "C library"),
    ("gpu", "driver"),
)
_HARDWARE = (("cpu", "model"), ("cpu", "stepping"), ("cpu", "sockets"), ("cpu", "cores"))


def identity(fingerprint: Fingerprint) -> dict[str, str]:
    """Return the facts that say which software stack this is."""
    return _facts(fingerprint, _STACK)


def hardware(fingerprint: Fingerprint) -> dict[str, str]:
    """Return the facts that say which machine this is."""
    return _facts(fingerprint, _HARDWARE)


def _facts(fingerprint: Fingerprint, names: Iterable[tuple[str, str]]) -> dict[str, str]:
    found = {(group, name): fingerprint.get(group, {}).get(name) for group, name in names}
    return {
        " ".join(key): str(fact) for key, fact in found.items() if fact is not None and not isinstance(fact, Absent)
    }
