"""The findings in words."""

import msgspec

from studies.peers.show import markdown
from studies.tests.peers.made import TRIAL


def test_every_question_has_its_table() -> None:
    text = markdown(TRIAL)
    assert text.count("\n## ") + text.startswith("## ") == 5
    assert (
        "| optimum-benchmark | bert | torch, transformers' definition | 150.00 ms | 100.00 ms | 1.500 (1.500 … 1.500) |"
        in text
    )
    assert (
        "| pyperf compare_to | the same | 1 slower, 1 not significant |  | 1 of 2 (1 to 99 %) | 85 (80 … 90) |" in text
    )
    assert "| levelfield ab | 5% slower | 1 inconclusive | 0 of 1 (0 to 98 %) |" in text
    assert "| optimum-benchmark | 50.00 % (50.00 … 50.00) | 6 |" in text
    assert "| pyperf | its wheels and what they need | 1.2 MB | 2 |" in text
    assert "Could not be measured: pyperf ended with code 1." in text


def test_what_was_not_measured_has_no_table() -> None:
    text = markdown(msgspec.structs.replace(TRIAL, cells=(), decisions=(), disk=(), failures=()))
    assert "##" not in text
    assert "seed 1" in text
