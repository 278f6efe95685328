"""What a node keeps between requests, and takes in."""

import hashlib
from pathlib import Path

import pytest

from levelfield.analysis import analyse
from levelfield.errors import LevelfieldError
from levelfield.record.page import NAME as REPORT
from levelfield.report import html
from levelfield_fleet.run import node
from levelfield_fleet.run.messages import Measure
from tests.fleet.run.fleets import record
from tests.images.bundles import CONTENT, bundle, entry, locks_that_name, manifest

ASKED = Measure("fleet", "node-01", ("--no-such-option",), 1, 60.0)
NAME = "wheels/one-1.0-py3-none-any.whl"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LEVELFIELD_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def leave(cache: Path, **changes: object) -> Path:
    run = record(**changes)
    folder = cache / "fleets" / "fleet" / "node-01" / "0" / "reports" / run.id
    folder.mkdir(parents=True)
    (folder / REPORT).write_text(html.render(run, analyse(run)))
    return folder


def test_a_run_that_ended_is_not_measured_again(cache: Path) -> None:
    folder = leave(cache)
    (folder / "journal.jsonl").write_bytes(b"not sent")
    found = node.measure(ASKED)
    assert found.run == folder.name
    assert found.files == {REPORT: (folder / REPORT).read_bytes()}


def test_of_several_runs_the_newest_that_ended_counts(cache: Path) -> None:
    older = leave(cache)
    leave(cache, id="20261122-000000-smoke-cut", finished=None)
    assert node.measure(ASKED).run == older.name


def test_a_bundle_is_taken_in_where_its_digest_is_right(
    cache: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    locks_that_name(NAME, folder=tmp_path_factory.mktemp("locked"), patch=monkeypatch)
    content = bundle(tmp_path, manifest(NAME), entry(NAME)).read_bytes()
    chunks = [content[:100], content[100:]]
    with pytest.raises(LevelfieldError, match="The bundle that arrived here"):
        node.take_bundle(iter(chunks), hashlib.sha256(b"other").hexdigest())
    assert not (cache / NAME).exists()
    node.take_bundle(iter(chunks), hashlib.sha256(content).hexdigest())
    assert (cache / NAME).read_bytes() == CONTENT
    assert not list((cache / "downloads").glob("bundle-*"))


def test_a_run_too_long_to_be_sent_is_said(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leave(cache)
    monkeypatch.setattr(node, "FILES", {REPORT: 10})
    with pytest.raises(LevelfieldError, match="cannot be sent: it is longer than 10 bytes"):
        node.measure(ASKED)


def test_a_message_about_a_run_is_short_whatever_it_printed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"x" * 100_000 + b"\n" + "\n".join(f"line {n} \x1b[2J" for n in range(50)).encode())
    said = node._last_lines(log)
    assert said.startswith("line 44")
    assert "\x1b" not in said
