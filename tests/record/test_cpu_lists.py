import pytest

from levelfield.record.cpu_lists import as_text, cpu_list


@pytest.mark.parametrize(("written", "cpus"), [("0-2,5", (0, 1, 2, 5)), ("0", (0,)), ("", ()), ("1,3-4\n", (1, 3, 4))])
def test_cpu_lists_go_there_and_back(written: str, cpus: tuple[int, ...]) -> None:
    assert cpu_list(written) == cpus
    assert as_text(cpus) == written.strip()
