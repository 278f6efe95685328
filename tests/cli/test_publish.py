"""`levelfield publish` and `levelfield card` as people type them."""

from pathlib import Path
from xml.etree import ElementTree as ET

from levelfield.record import files
from tests.analysis.many import small_run, write_run
from tests.commands import call, one_clear_sentence
from tests.report.hostile import make_hostile


def test_a_site_is_written_and_what_was_left_out_is_named(tmp_path: Path) -> None:
    one = small_run()
    write_run(one, tmp_path / "mine" / one.id)
    (tmp_path / "mine" / "broken").mkdir()
    (tmp_path / "mine" / "broken" / files.NAME).write_text("[")
    command = call("publish", "--reports", "mine", "--out", "public", folder=tmp_path)
    assert command.code == 0, command.err
    assert "Left out: broken" in command.out
    assert "1 runs, 0 comparisons and 0 pages of trends: public/index.html" in command.out
    index = (tmp_path / "public" / "index.html").read_text(encoding="utf-8")
    assert f"runs/{one.id}/" in index


def test_a_site_is_not_written_over_what_is_no_site(tmp_path: Path) -> None:
    one = small_run()
    write_run(one, tmp_path / "reports" / one.id)
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "thesis.txt").write_text("years of work")
    command = call("publish", folder=tmp_path)
    one_clear_sentence(command, "site")
    assert [each.name for each in (tmp_path / "site").iterdir()] == ["thesis.txt"]


def test_nothing_to_publish_is_one_sentence(tmp_path: Path) -> None:
    one_clear_sentence(call("publish", folder=tmp_path), "There is no folder reports with runs")
    (tmp_path / "reports").mkdir()
    one_clear_sentence(call("publish", folder=tmp_path), "There is no run under reports that can be published")


def test_a_card_tells_the_verdict_in_both_forms(tmp_path: Path) -> None:
    one = small_run()
    write_run(one, tmp_path / "reports" / one.id)
    command = call("card", one.id, "--out", tmp_path / "cards", folder=tmp_path)
    assert command.code == 0, command.err
    picture = ET.fromstring((tmp_path / "cards" / "card.svg").read_text(encoding="utf-8"))
    texts = [element.text or "" for element in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert any("is fastest on" in text or "are not separated on" in text or "are equal on" in text for text in texts)
    assert "openvino" in texts
    told = (tmp_path / "cards" / "card.md").read_text(encoding="utf-8")
    assert told.startswith("**")
    assert told.count("| best |") == 2


def test_a_card_of_what_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "reports").mkdir()
    one_clear_sentence(call("card", "gone", folder=tmp_path), "gone")
    assert not (tmp_path / "card.svg").exists()


def test_a_card_of_a_stranger_says_nothing_to_the_terminal(tmp_path: Path) -> None:
    files.write(make_hostile(variants=False), tmp_path)
    command = call("card", tmp_path, folder=tmp_path)
    assert command.code == 0, command.err
    assert command.out.split() == ["card.svg", "card.md"]
    ET.fromstring((tmp_path / "card.svg").read_text(encoding="utf-8"))
