"""Which lock virtual environments are made of, where the current one is for a Python that is not here."""

import pytest

from levelfield.images import catalogue
from levelfield.plan import Selection, found_here, interpreters, make
from levelfield.plan.arms import parse

BACKENDS = ("onnxruntime", "jax", "torch")


def fitted(*pythons: str) -> list[str]:
    arms, _ = interpreters.fitting(tuple(map(parse, BACKENDS)), pythons)
    return [arm.id for arm in arms]


def test_who_has_every_python_keeps_every_lock() -> None:
    assert fitted("3.11", "3.13") == list(BACKENDS)
    assert interpreters.fitting(tuple(map(parse, BACKENDS)), ("3.11", "3.13"))[1] == ()


def test_the_newest_lock_for_a_python_that_is_here_is_taken() -> None:
    assert fitted("3.11") == ["onnxruntime", "jax@0.10.2+python=3.11", "torch"]
    assert fitted("3.13") == ["onnxruntime+python=3.13", "jax", "torch"], "torch has none, and says so itself"
    assert fitted("3.12") == list(BACKENDS)


def test_the_lock_of_a_cuda_variant_is_for_a_python_of_its_own() -> None:
    (arm,), warnings = interpreters.fitting((parse("jax@cu13"),), ("3.11",))
    assert (arm.id, warnings) == ("jax@cu13", ())


@pytest.mark.parametrize(("named", "jax"), [((), "jax@0.10.2+python=3.11"), (("jax", "onnxruntime"), "jax")])
def test_only_of_backends_that_nobody_named(named: tuple[str, ...], jax: str) -> None:
    selection = Selection(models=("mlp",), scenarios=("latency",), backends=named, pythons=(catalogue.PYTHON,))
    made = make(selection, available=(0,))
    assert jax in made.images
    assert jax in made.backends
    told = [warning for warning in made.warnings if warning.code == "other-python"]
    assert [f"{jax} in place of jax." in warning.message for warning in told] == [True] * (not named)


def test_only_virtual_environments_need_a_python_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("levelfield.images.environments.has_python", lambda python: python == "3.13")
    assert found_here(Selection(), "venv") == Selection(pythons=("3.13",))
    assert found_here(Selection(), "docker") == Selection()
    assert found_here(Selection(backends=("jax",)), "venv").pythons == ()
