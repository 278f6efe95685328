"""A timeline as a file: by its ending, as it was written, and only where it is one."""

from pathlib import Path

import pytest

from levelfield.backends import registry
from levelfield.backends.info import TraceFormat
from levelfield.errors import LevelfieldError
from levelfield.run.explain.timeline import wanted, write
from tests.backends.profiling.recorded import trace

NESTED = b"[" * 100_000


@pytest.mark.parametrize(
    ("backend", "name", "form"),
    [
        ("onnxruntime", "o.json", "chrome"),
        ("torch", "t.json", "chrome"),
        ("torch-compile", "t.json", "chrome"),
        ("jax", "j.json", "chrome"),
        ("jax", "j.xplane.pb", "xplane"),
        ("tensorflow-xla", "f.xplane.pb", "xplane"),
    ],
)
def test_the_ending_says_the_format(tmp_path: Path, backend: str, name: str, form: TraceFormat) -> None:
    assert wanted(tmp_path / name, backend) == form


@pytest.mark.parametrize(
    ("backend", "name", "says"),
    [
        ("openvino", "o.json", "OpenVINO writes no timeline of its own"),
        ("canary", "c.json", "has no profiler that is read here"),
        ("tensorflow", "f.json", "Name the file *.xplane.pb."),
        ("torch", "t.xplane.pb", "Name the file *.json."),
        ("jax", "j.txt", "Name the file *.xplane.pb or *.json."),
        ("torch", "nowhere/t.json", "Name a file in a folder that is there."),
    ],
)
def test_what_no_profiler_writes_is_refused_before_a_launch(tmp_path: Path, backend: str, name: str, says: str) -> None:
    with pytest.raises(LevelfieldError) as caught:
        wanted(tmp_path / name, backend)
    assert says in str(caught.value)
    assert caught.value.fix


def test_only_a_backend_with_a_profiler_has_formats() -> None:
    assert all(registry.get(name).profiler for name in registry.names() if registry.get(name).traces)


@pytest.mark.parametrize(
    ("recorded", "form"),
    [
        ("onnxruntime-mlp.json", "chrome"),
        ("torch-mlp.json", "chrome"),
        ("jax-mlp.xplane.pb", "xplane"),
        ("tensorflow-mlp.xplane.pb", "xplane"),
    ],
)
def test_a_timeline_is_written_byte_for_byte(tmp_path: Path, recorded: str, form: TraceFormat) -> None:
    content = trace(recorded)
    said = write(tmp_path / recorded, content, form)
    assert (tmp_path / recorded).read_bytes() == content
    events = int(said.split(": ")[1].split()[0])
    assert events >= 5 * 6, "six products in each of five calls"
    assert ("Perfetto" if form == "chrome" else "TensorBoard") in said


@pytest.mark.parametrize(
    ("content", "form"),
    [
        (b"", "chrome"),
        (b"[]", "chrome"),
        (b'{"traceEvents": []}', "chrome"),
        (b'[{"name": "no phase"}]', "chrome"),
        (b'{"traceEvents": 7}', "chrome"),
        (b"\xff\xfe", "chrome"),
        (NESTED, "chrome"),
        (b"", "xplane"),
        (b"\xff" * 40, "xplane"),
        (b"[1]", "xplane"),
    ],
)
def test_what_is_no_timeline_is_not_written(tmp_path: Path, content: bytes, form: TraceFormat) -> None:
    with pytest.raises(LevelfieldError, match="timeline"):
        write(tmp_path / "file", content, form)
    assert not (tmp_path / "file").exists()
