"""The committed list is well-formed, and a malformed one is refused."""

from pathlib import Path

import pytest

from levelfield.errors import LevelfieldError
from studies.regressions import pairs, workloads

PAIRS = pairs.read()


def test_every_pair_has_a_source_two_locked_versions_and_a_workload_of_use() -> None:
    assert not pairs.missing(PAIRS)
    assert all(pair.source.startswith("https://github.com/") and pair.says for pair in PAIRS)
    assert {each.workload for each in PAIRS if not each.zoo_model} == set(workloads.names())
    asked = {(each.backend, each.old, each.new, each.workload) for each in PAIRS}
    assert len(asked) == len(PAIRS), "no two measure the same"


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
    with pytest.raises(LevelfieldError, match="is no frozen list"):
        pairs.read_frozen(tmp_path / "frozen.toml")
