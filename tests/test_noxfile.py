"""How the tests are divided into parts."""

import importlib.util
from types import ModuleType

import pytest

from tests.commands import ROOT


@pytest.fixture(scope="module")
def noxfile() -> ModuleType:
    spec = importlib.util.spec_from_file_location("noxfile", ROOT / "noxfile.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_parts_hold_every_file_once(noxfile: ModuleType) -> None:
    whole = noxfile.part([])
    assert "tests/test_noxfile.py" in whole
    quarters = [noxfile.part([f"{number}/4"]) for number in range(1, 5)]
    assert sorted(file for quarter in quarters for file in quarter) == whole
    assert max(map(len, quarters)) - min(map(len, quarters)) <= 1


@pytest.mark.parametrize("words", [["5/4"], ["0/4"], ["1/0"], ["1"], ["1/4", "2/4"], ["-1/4"], ["x"]], ids=" ".join)
def test_a_part_that_is_none_is_refused(noxfile: ModuleType, words: list[str]) -> None:
    with pytest.raises(ValueError, match=f"There is no part {' '.join(words)} of the tests"):
        noxfile.part(words)
