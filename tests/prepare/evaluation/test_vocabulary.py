import re
from pathlib import Path

import pytest

from levelfield.prepare.evaluation import vocabulary
from levelfield.prepare.evaluation.listing import UnusableError

PIECES = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nword\n##s\n"


def test_it_is_found_beside_the_data_or_beside_the_weights(tmp_path: Path) -> None:
    beside = tmp_path / "weights"
    beside.mkdir()
    (beside / "vocab.txt").write_text(PIECES)
    found = vocabulary.find((tmp_path, beside), 100)
    assert (found.special.pad, found.special.cls, found.special.sep, found.lowercase) == (0, 2, 3, True)
    (beside / "tokenizer_config.json").write_text('{"do_lower_case": false, "model_max_length": 512}')
    assert not vocabulary.find((tmp_path, beside), 100).lowercase


@pytest.mark.parametrize(
    ("content", "configuration", "said"),
    [
        (None, None, "There is no vocab.txt in “data”: it says which piece"),
        ("[PAD]\nword\n", None, "vocab.txt has no [UNK], [CLS], [SEP]"),
        (PIECES * 30, None, "vocab.txt has 180 pieces, and the network knows 100."),
        (PIECES, '{"do_lower_case": "yes"}', "tokenizer_config.json is no configuration of a tokenizer"),
    ],
)
def test_another_one_is_refused_in_a_sentence(
    tmp_path: Path, content: str | None, configuration: str | None, said: str
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    for name, text in (("vocab.txt", content), ("tokenizer_config.json", configuration)):
        if text is not None:
            (folder / name).write_text(text)
    with pytest.raises(UnusableError, match=re.escape(said)):
        vocabulary.find((folder,), 100)
