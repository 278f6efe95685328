"""Sentences of earlier versions become signals when they are read."""

import doctest

import msgspec
import pytest

from levelfield.record import disturbance
from levelfield.record.disturbance import CLAUSES, Reason, sentence
from levelfield.record.journal import RoundDone
from levelfield.record.schema import Round

ALL = tuple(Reason(signal, 0.092 if "%" in clause else 3) for signal, clause in CLAUSES.items())


@pytest.mark.parametrize("reasons", [(), ALL[:1], ALL[1:3], ALL])
def test_a_sentence_is_read_as_its_signals(reasons: tuple[Reason, ...]) -> None:
    content = msgspec.json.encode({"type": "round", "block": "b", "generation": 0, "round": 0, "index": 0, "turns": []})
    old = msgspec.json.decode(content) | {"disturbed": sentence(reasons)}
    done = msgspec.convert({key: old[key] for key in ("type", "block", "generation", "round", "disturbed")}, RoundDone)
    read = msgspec.convert({key: old[key] for key in ("index", "turns", "disturbed")}, Round)
    assert done.disturbed == read.disturbed == reasons
    assert msgspec.json.decode(msgspec.json.encode(read), type=Round) == read


@pytest.mark.parametrize("text", ["steal", "; ", "the hypervisor took much of the CPU time", 7])
def test_what_no_version_wrote_is_refused(text: object) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"index": 0, "turns": [], "disturbed": text}, Round)


def test_examples_in_docstrings_hold() -> None:
    assert doctest.testmod(disturbance).failed == 0
