"""Disk beside the framework, from requirements as wheels have them."""

from studies.peers.disk import closure, needs


def test_what_is_needed_is_found_through_others() -> None:
    known = {"tool": ["a"], "a": ["b"], "b": ["a"], "framework": ["b"], "other": []}
    assert closure(known, ["tool"]) - closure(known, ["framework"]) == {"tool"}
    assert closure(known, ["tool"]) == {"tool", "a", "b"}


def test_markers_and_extras_are_judged_for_the_images() -> None:
    lines = [
        "psutil>=5.9.0; sys_platform != 'emscripten'",
        "tox; extra == 'dev'",
        "Importlib_Resources; python_version < '3.9'",
        "PyYAML",
    ]
    assert needs(lines) == ["psutil", "pyyaml"]
