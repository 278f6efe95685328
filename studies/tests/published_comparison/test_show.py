"""The tables of the folklore trial as Markdown."""

from studies.published_comparison import show
from studies.tests.published_comparison.records import record


def test_the_markdown_has_both_tables_side_by_side() -> None:
    text = show.markdown(record())
    lines = text.splitlines()
    head = lines.index("| framework | stated, ms | as published | rank | fairly | rank | as published ÷ fairly |")
    assert [line.split(" | ")[0] for line in lines[head + 2 : head + 7]] == [
        "| PyTorch", "| TensorFlow", "| JAX", "| ONNX Runtime", "| OpenVINO",
    ]  # fmt: skip
    assert "| OpenVINO | 144.84 | 14" in text
    assert "- OpenVINO, without a rank as published, is 1 fairly. 7" in text
    assert "- OpenVINO as published: no rank. It does not equal the reference: relative error 4.0e-03 is over" in text
    assert "- JAX as published: no rank. Its answer cannot be compared: it makes weights of its own in the call" in text
    assert "0 of 18 rounds were disturbed from outside." in text
    assert all(line.count("|") in (0, 6, 8) for line in lines)
