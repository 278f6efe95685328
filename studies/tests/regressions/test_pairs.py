"""The committed list is well-formed, and a malformed one is refused."""

from pathlib import Path

import pytest

from levelfield.errors import LevelfieldError
from studies.regressions import pairs, workloads

PAIRS = pairs.read()


def test_there_are_enough_of_each_kind() -> None:
    claimed = [each for each in PAIRS if each.claim in {"slower", "faster"}]
    unchanged = [each for each in PAIRS if each.claim == "none"]
    assert len(claimed) >= 14
    assert len(unchanged) >= 12
    assert {each.backend for each in claimed} == {"onnxruntime", "openvino"}


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_every_pair_has_a_source_and_two_locked_versions(pair: pairs.Pair) -> None:
    assert pair.source.startswith("https://github.com/")
    assert pair.says
    assert pair.old != pair.new
    assert not pairs.missing([pair])


def test_every_workload_is_of_use() -> None:
    assert {each.workload for each in PAIRS if not each.zoo_model} == set(workloads.names())


def test_no_two_pairs_measure_the_same() -> None:
    asked = [(each.backend, each.old, each.new, each.workload) for each in PAIRS]
    assert len(set(asked)) == len(asked)


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("new", "1.20.0", "compares a version with itself"),
        ("source", "http://example.org", "no address of a source"),
        ("workload", "softplos", "unknown workload, softplos"),
        ("workload", "zoo:softplus", "unknown workload"),
        ("name", "a b", "other characters"),
        ("claim", "maybe", "is no list of pairs"),
    ],
)
def test_a_malformed_pair_is_refused(tmp_path: Path, field: str, value: str, says: str) -> None:
    fields = {"name": "x", "backend": "onnxruntime", "old": "1.20.0", "new": "1.21.0", "workload": "softplus"}
    fields |= {"source": "https://example.org", "claim": "slower", "says": "+25 %", field: value}
    path = tmp_path / "pairs.toml"
    path.write_text("[[pair]]\n" + "".join(f'{name} = "{text}"\n' for name, text in fields.items()))
    with pytest.raises(LevelfieldError, match=says):
        pairs.read(path)


def test_a_name_stands_once(tmp_path: Path) -> None:
    path = tmp_path / "pairs.toml"
    one = pairs.PAIRS.read_text().partition("[[pair]]")[2].partition("[[pair]]")[0]
    path.write_text(f"[[pair]]{one}\n[[pair]]{one}")
    with pytest.raises(LevelfieldError, match="is there twice"):
        pairs.read(path)


def test_a_file_that_is_not_there_is_no_frozen_list(tmp_path: Path) -> None:
    with pytest.raises(LevelfieldError, match="is no frozen list"):
        pairs.read_frozen(tmp_path / "frozen.toml")
