from levelfield.report import units
from levelfield.report.remaining import Remaining


def test_the_estimate_counts_down_until_there_is_another() -> None:
    known = Remaining(0.4, 600.0, at_s=50.0)
    assert known.text(50.0, units.roughly) == "about 10 min left"
    assert known.text(290.0, units.roughly) == "about 6 min left"
    assert known.text(9999.0, units.roughly) == "about 0 s left"
    assert Remaining().text(1.0, units.roughly) == "time left not known yet"
