"""Reports made to do harm: each ends in a sentence, within seconds, and nothing is written anywhere."""

import functools
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from levelfield.analysis import analyse
from levelfield.errors import LevelfieldError
from levelfield.record import files
from levelfield.record.page import MAX_BYTES, pack
from levelfield.record.schema import Run
from levelfield.report import html
from levelfield.share import statement
from levelfield.share.attestation import decode, read
from levelfield.share.verify import verify
from tests.commands import one_clear_sentence, run
from tests.compare.test_hostile_records import HOSTILE, PLACES, PLAIN
from tests.report.hostile import make_hostile
from tests.share.evidence import broken, check, leave, small


def tree(folder: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() and not path.is_symlink() else None
        for path in sorted(folder.rglob("*"))
        if not path.name.startswith(("out-", "err-"))
    }


@pytest.fixture(autouse=True)
def _soon(tmp_path: Path) -> Iterator[None]:
    del tmp_path
    began = _processor_s()
    yield
    assert _processor_s() - began < 60


def _processor_s() -> float:
    """Return the processor time used here and by what was started here: a busy machine is no failure."""
    return sum(os.times()[:4])


@functools.cache
def plain_page() -> str:
    return html.render(small(), analyse(small()))


def page_with(content: bytes, folder: Path, **changed: Any) -> Path:
    """A page whose block holds this as its record, all digests fitting."""
    text = plain_page()
    envelope = json.loads(pack(content).block) | changed
    start = text.index('id="record">') + len('id="record">')
    path = folder / "report.html"
    path.write_text(text[:start] + json.dumps(envelope, separators=(",", ":")) + text[text.index("</script>", start) :])
    return path


@pytest.mark.sampled(1)
@pytest.mark.parametrize("variants", [False, True])
def test_scripts_in_every_field_are_text_and_the_page_holds(tmp_path: Path, variants: bool) -> None:
    hostile = make_hostile(variants=variants)
    (tmp_path / "report.html").write_text(html.render(hostile, analyse(hostile)), encoding="utf-8")
    before = tree(tmp_path)
    done = run("verify", tmp_path, folder=tmp_path)
    assert done.code == 1, done.out + done.err
    assert "ok   page" in done.out
    assert "The record contradicts itself." in done.out, "every answer gives a reason why it is not equal"
    assert "\x1b" not in done.out
    assert tree(tmp_path) == before


def test_a_script_put_into_a_page_is_found(tmp_path: Path) -> None:
    folder = leave(small(), tmp_path / "run")
    text = (folder / "report.html").read_text()
    (folder / "report.html").write_text(text.replace("</main>", "<script>window.owned=1</script></main>"))
    assert "<script>window.owned=1</script>" in broken(check(folder))
    (folder / "report.html").write_text(text.replace("default-src &#39;none&#39;", "default-src *"))
    assert "default-src *" in broken(check(folder))


def test_signs_that_speak_to_the_terminal_are_not_printed(tmp_path: Path) -> None:
    plain = msgspec.to_builtins(small())
    plain["id"] = "\x1b]0;owned\x07\x1b[2J[red]x[/red]"
    files.write(msgspec.convert(plain, Run), tmp_path)
    done = run("verify", tmp_path, folder=tmp_path)
    assert done.code == 0
    assert "\x1b" not in done.out + done.err
    assert "[red]x[/red]" in done.out


def test_a_statement_that_names_files_elsewhere_does_not_hold(tmp_path: Path) -> None:
    folder = leave(small(), tmp_path / "run")
    secret = tmp_path / "secret"
    secret.write_text("secret")
    sha256 = hashlib.sha256(b"secret").hexdigest()
    record = hashlib.sha256(files.encode(small())).hexdigest()
    for name in (
        "sbom/../../secret",
        str(secret),
        "../secret",
        "sbom/../secret.cdx.json",
        "sbom/.cdx.json",
        "sbom/a\n.cdx.json",
    ):
        made = statement.make(small(), record_sha256=record, sboms={name: sha256})
        (folder / statement.NAME).write_bytes(made)
        assert "It names files that no run writes." in broken(check(folder))


def test_links_pipes_and_devices_are_not_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("{}")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for number, target in enumerate((secret, Path("/dev/zero"), pipe)):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "report.html").symlink_to(target)
        with pytest.raises(LevelfieldError, match="it is a link"):
            read(folder)
    for path in (pipe, Path("/dev/zero"), tmp_path / "absent", tmp_path):
        with pytest.raises(LevelfieldError):
            read(path)
    folder = tmp_path / "circle"
    folder.mkdir()
    (folder / "run.json").symlink_to(folder / "run.json")
    with pytest.raises(LevelfieldError):
        read(folder / "run.json")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK\x03\x04" + bytes(100),
        b"\x1f\x8b\x08" + bytes(100),
        b"\x80\x04\x95\x10",
        b"[" * 1000,
        b"<svg onload=x>",
        "<!doctype html>ü".encode("latin-1"),
        b"<!doctype html>" + b"<" * 1_000_000,
        b"<!doctype html>" + b"<!--" * 1_000_000,
        b'{"schema": ' + b"9" * 5000 + b"}",
        b'{"a":' * 100_000,
    ],
)
def test_what_is_no_report_is_one_sentence(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "report.html"
    path.write_bytes(content)
    with pytest.raises(LevelfieldError) as caught:
        check(path)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600


def test_a_page_of_gigabytes_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    with path.open("wb") as stream:
        stream.write(b"<!doctype html>")
        stream.truncate(MAX_BYTES + 1)
    with pytest.raises(LevelfieldError, match="is longer than"):
        check(path)
    with path.open("wb") as stream:
        stream.truncate(2**40)
    with pytest.raises(LevelfieldError, match="is longer than"):
        check(tmp_path)


def test_a_bomb_inside_a_page_is_one_sentence_of_the_command(tmp_path: Path) -> None:
    path = page_with(bytes(2**28), tmp_path, size_bytes=1000)
    before = tree(tmp_path)
    done = run("verify", path, folder=tmp_path)
    one_clear_sentence(done, "larger than it says", code=2)
    assert tree(tmp_path) == before


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(PLACES), HOSTILE)
def test_whatever_stands_anywhere_in_a_record_ends_in_a_verdict_or_a_sentence(
    tmp_path: Path, place: tuple[Any, ...], value: Any
) -> None:
    record = msgspec.json.decode(msgspec.json.encode(PLAIN))
    held: Any = record
    for step in place[:-1]:
        held = held[step]
    held[place[-1]] = value
    content = msgspec.json.encode(record)
    page = page_with(content, tmp_path).read_bytes()
    for read_it in (functools.partial(decode, "x", page=page), functools.partial(decode, "x", record=content)):
        said, verdict = "", ""
        try:
            verdict = verify(read_it()).verdict
        except LevelfieldError as error:
            said = str(error)
        known = {"verification failed", "consistent, but unsigned"}
        assert verdict in known or (said and "\n" not in said)
