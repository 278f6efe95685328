"""Locks put together from two, and whether they can be installed."""

from pathlib import Path

import pytest

from levelfield.images import catalogue, version_locks

OLD, NEW = catalogue.lock("onnxruntime", "cpu", "1.22.1"), catalogue.lock("onnxruntime")
NEEDED = ("coloredlogs", "humanfriendly", "mpmath", "sympy")
"""What onnxruntime 1.22.1 asks for and 1.31.1 does not."""


@pytest.mark.parametrize("chosen", [(), ("onnxruntime",), ("sympy", "mpmath"), ("onnxruntime", *NEEDED)])
def test_a_mixed_lock_takes_the_chosen_from_the_second(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, chosen: tuple[str, ...]
) -> None:
    monkeypatch.setenv("LEVELFIELD_CACHE", str(tmp_path))
    mixed = version_locks.mix(OLD, NEW, frozenset(chosen))
    for name in OLD.versions.keys() | NEW.versions.keys():
        assert mixed.versions.get(name) == (NEW if name in chosen else OLD).versions.get(name)
    assert catalogue.lock("onnxruntime", "cpu", mixed.version) == mixed, "it is found as any other"
    assert mixed.version not in catalogue.versions("onnxruntime"), "and not listed among the locks that were made"
    assert version_locks.mix(OLD, NEW, frozenset(chosen)) == mixed


@pytest.mark.parametrize(
    ("chosen", "says"),
    [
        (("onnxruntime",), ""),
        (("onnxruntime", *NEEDED), ""),
        (("sympy",), "sympy"),
        (("humanfriendly",), "humanfriendly"),
    ],
)
def test_a_set_that_lacks_what_it_needs_is_distinguished(chosen: tuple[str, ...], says: str) -> None:
    problem = version_locks.conflict(version_locks.mix(OLD, NEW, frozenset(chosen)))
    assert bool(problem) == bool(says), problem
    assert says in problem
    assert "://" not in problem


def test_versions_that_exclude_each_other_are_distinguished() -> None:
    old, new = catalogue.lock("openvino", "cpu", "2025.4.1"), catalogue.lock("openvino")
    assert "numpy" in version_locks.conflict(version_locks.mix(old, new, {"numpy"})), "2025.4.1 wants an older NumPy"
    assert version_locks.conflict(version_locks.mix(old, new, {"openvino"})) == ""
