"""Commands that mean nothing: each ends with 2 and one sentence, before anything is made or lost."""

from pathlib import Path

import pytest

from tests.commands import NO_ENGINE, call, one_clear_sentence
from tests.share.evidence import leave, small


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("typed")
    leave(small(), place / "reports" / "a-run")
    (place / "text.txt").write_text("no key")
    return place


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("verify reports/a-run --signers nosuch", "There is no plain file nosuch."),
        ("verify nosuch", "nosuch"),
        ("report a-run --sign text.txt", "text.txt"),
        ("reproduce reports/a-run --dry-run --data nosuch", "There is no data set called 'nosuch'."),
        ("reproduce reports/a-run --dry-run --model nosuch.onnx", "needs no file"),
        ("history @", "The value is empty."),
        ("history --reports=", "The value of --reports is empty."),
        ("bench --reports @", "The value of --reports is empty."),
        ("bench --models @", "The value of --models is empty."),
        ("bench --models mlp --scenarios latency --target 90%", "--target is for the scenario convergence"),
        ("bench --models mlp --scenarios latency --data .", "There is no data set called '.'."),
        ("bench --models mlp --backends torch#0", "'torch#0' names no backend"),
        ("bench --models mlp --backends torch,torch", "torch is named twice"),
        ("bench --scenarios decode --depths 0", "at a depth of 0: at least one token comes before it"),
        ("bench --scenarios generate --depths 400", "Choose --depths from 1 to 384"),
        ("bench --scenarios decode --batch 65536", "The cache of decoder takes 256.0 GiB"),
        ("bench --models vit --backends keras-jax", "keras-jax: there is no definition of vit here"),
        ("bench --models mobilenet --precision bf16 --backends onnxruntime", "no bf16 kernels"),
        ("bench --models embedder --scenarios training", "embedder cannot be trained: there is no recipe"),
        ("ab torch keras-torch --models vit", "keras-torch has no definition of vit here"),
        ("card @", "The value is empty."),
        ("export a-run --csv @", "The value of --csv is empty."),
        ("compare a-run a-run", "is named on both sides"),
    ],
)
def test_it_ends_with_two_and_one_sentence(folder: Path, words: str, says: str) -> None:
    typed = ["" if word == "@" else word for word in words.split()]
    before = content_of(folder)
    one_clear_sentence(call(*typed, folder=folder, environment=NO_ENGINE), says)
    assert content_of(folder) == before, "nothing was made, changed or lost"


def content_of(folder: Path) -> dict[Path, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(("out-", "err-")))
    return {path: path.read_bytes() for path in found}
