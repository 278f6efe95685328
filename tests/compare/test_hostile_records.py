"""Records from strangers, all the way: read, reduced, compared and written; refused in one sentence, or only text."""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from levelfield.analysis import guarded
from levelfield.compare.comparison import compare_runs
from levelfield.compare.formats import WRITERS
from levelfield.errors import LevelfieldError
from levelfield.record import files
from tests.compare.runs import reduced
from tests.records_builder import make_run
from tests.report.hostile import PAYLOAD

RUN = make_run(models=["mlp"], backends=["jax", "torch"], generations=2, rounds=1, max_calls=3)
PLAIN: dict[str, Any] = msgspec.to_builtins(RUN)
GOOD = reduced(msgspec.structs.replace(RUN, id="good"))

HOSTILE: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from(
        [
            None, True, "", PAYLOAD, "\x00\x1b]0;x\x07", "\u202e", "../../etc/passwd", "a" * 10_000, [], {}, [[]],
            0, -1, 1, 2**31, 2**62, 2**63, -(2**63), 10**30, 0.0, -0.0, 1e-320, 1e308, -1e308, 1e-9,
            {"type": "absent", "reason": PAYLOAD},
        ]
    ),
    st.text(max_size=20),
    st.integers(-(2**65), 2**65),
    st.floats(allow_nan=False, allow_infinity=False),
)  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a record that a value stands at."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, held in entries:
        yield (*path, key)
        yield from places(held, (*path, key))


PLACES = list(places(msgspec.json.decode(msgspec.json.encode(RUN))))


def changed(path: tuple[Any, ...], value: Any, record: dict[str, Any]) -> None:
    target = record
    for key in path[:-1]:
        try:
            target = target[key]
        except (KeyError, IndexError, TypeError):
            return  # an earlier change took it away
    try:
        target[path[-1]] = value
    except (IndexError, TypeError):
        return


def through(content: bytes, folder: Path) -> str | None:
    """Take a record all the way; return its one sentence where it is refused."""
    file = folder / files.NAME
    file.write_bytes(content)
    refusal: LevelfieldError | None = None
    try:
        run = guarded.decode(files.content_of(file), str(file))  # also what `sides.load` refuses: it contradicts itself
        with guarded.computing(str(file)):
            found = compare_runs([GOOD], [reduced(run)])
    except LevelfieldError as error:
        refusal = error
    if refusal is not None:
        assert refusal.exit_code == 2
        assert "\n" not in str(refusal)
        assert len(str(refusal)) < 1000
        return str(refusal)
    for write in WRITERS.values():
        written = write(found)
        assert "\x1b" not in written
        assert "\u202e" not in written
        assert written.encode()
    assert found.exit_code in {1, 3}  # one run a side never shows that nothing is worse
    return None


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=st.lists(st.tuples(st.sampled_from(PLACES), HOSTILE), min_size=1, max_size=6))
def test_a_changed_record_is_compared_or_refused(tmp_path: Path, changes: list[tuple[tuple[Any, ...], Any]]) -> None:
    record = copy.deepcopy(msgspec.json.decode(msgspec.json.encode(RUN)))
    for path, value in changes:
        changed(path, value, record)
    through(msgspec.json.encode(record), tmp_path)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_record_with_changed_bytes_is_compared_or_refused(tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray(msgspec.json.encode(RUN))
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(content) - 1))
        content[start : start + data.draw(st.integers(0, 40))] = data.draw(st.binary(max_size=20))
    through(bytes(content), tmp_path)


@pytest.mark.parametrize("value", [2**62, 1, -1, 0])
@pytest.mark.parametrize("name", ["samples_ns", "window_ns", "peak_rss_bytes", "start_ns", "index", "elapsed_ns"])
def test_extreme_numbers_everywhere_at_once(tmp_path: Path, name: str, value: int) -> None:
    record = msgspec.json.decode(msgspec.json.encode(RUN))
    for path in PLACES:
        if path[-1] == name:
            changed(path, [value] * 3 if name == "samples_ns" else value, record)
    sentence = through(msgspec.json.encode(record), tmp_path)
    assert (sentence is not None) == (name == "index")  # two generations of one index: no run has that


def test_text_of_a_stranger_in_every_field(tmp_path: Path) -> None:
    record = msgspec.json.decode(msgspec.json.encode(RUN))
    fixed = {"scenario", "launcher", "stage", "kind", "type", "arm", "canary", "backend", "name", "variant", "model"}
    fixed |= {"precision", "device"}  # else it is another case
    for path in PLACES:
        target: Any = record
        for key in path:
            target = target[key]
        digest = "layers" in path or str(path[-1]).endswith(("sha256", "image_id"))  # anything else there is refused
        if isinstance(target, str) and path[-1] not in fixed and not digest and "scenarios" not in path:
            changed(path, f"{target}{PAYLOAD}", record)
    assert through(msgspec.json.encode(record), tmp_path) is None
