from pathlib import Path

from levelfield.machine import reading
from levelfield.record.schema import Absent


def test_a_missing_file_is_absent_and_named_the_same_on_every_machine(tmp_path: Path) -> None:
    assert reading.text(tmp_path / "sys/nowhere") == Absent("/sys/nowhere is not there")


def test_a_file_of_another_user_is_absent(tmp_path: Path) -> None:
    folder = tmp_path / "proc"
    folder.mkdir()
    (folder / "is_a_folder").mkdir()
    answer = reading.text(folder / "is_a_folder")
    assert isinstance(answer, Absent)
    assert answer.reason.startswith("/proc/is_a_folder cannot be read")


def test_a_number_that_is_none_is_absent(tmp_path: Path) -> None:
    (tmp_path / "value").write_text("many\n")
    assert reading.integer(tmp_path / "value") == Absent("value says 'many', which is not a whole number")


def test_hexadecimal_and_decimal_numbers_are_read(tmp_path: Path) -> None:
    (tmp_path / "value").write_text("0x1000065\n")
    assert reading.integer(tmp_path / "value") == 0x1000065
    (tmp_path / "value").write_text("-1")
    assert reading.integer(tmp_path / "value") == -1


def test_the_chosen_word_is_the_one_in_brackets(tmp_path: Path) -> None:
    (tmp_path / "enabled").write_text("always [madvise] never\n")
    assert reading.chosen(tmp_path / "enabled") == "madvise"


def test_tables_of_both_kinds(tmp_path: Path) -> None:
    (tmp_path / "t").write_text('model name\t: A=B\nHOME_URL="https://x"\nmodel name: second\nnothing here\n')
    assert reading.table(tmp_path / "t") == {"model name": "A=B", "HOME_URL": "https://x"}
