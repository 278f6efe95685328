"""What a finding says: whether something has to be done, and then what."""

from levelfield.machine.findings import bad, check, gibibytes, ok, warn


def test_a_judgement_is_a_warning_with_a_fix_or_neither() -> None:
    well = check("memory", "There are 8.0 GiB.", "Add memory.", passed=True)
    ill = check("memory", "There are 8.0 GiB.", "Add memory.", passed=False)
    assert well == ok("memory", "There are 8.0 GiB.")
    assert (well.state, well.fix) == ("ok", "")
    assert ill == warn("memory", "There are 8.0 GiB.", "Add memory.")
    assert (ill.state, ill.fix) == ("warn", "Add memory.")
    assert bad("memory", "There is none.", "Add memory.").state == "bad"


def test_sizes_are_in_gibibytes() -> None:
    assert gibibytes(3 << 30) == "3.0 GiB"
    assert gibibytes(12.5 * 2**30) == "12.5 GiB"
    assert gibibytes(0) == "0.0 GiB"
