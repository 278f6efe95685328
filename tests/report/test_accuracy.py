import msgspec

from levelfield.analysis import analyse
from levelfield.record.schema import Failure
from levelfield.report import accuracy, html
from tests.judged import PICTURES, judged_run
from tests.records_builder import make_run
from tests.report.test_terminal import shown


def test_accuracy_has_its_interval() -> None:
    run = judged_run()
    table, _ = accuracy.tables(run, analyse(run))
    assert table.title == "ImageNet, ResNet-50, 40 of 50 000 pictures, cpu".replace("50 000", "50\u202f000")
    assert [head.text for head in table.heads[2:]] == ["Top-1", "Top-5", "Other answers"]
    right, _, others = table.lines[0].cells[2:]
    assert right.line == "95.0\u00a0% (83.1–99.4)"
    assert others.line == "0"


def test_losses_and_disagreements_are_said() -> None:
    run = judged_run()
    _, losses = accuracy.tables(run, analyse(run))
    _, difference, *rest = losses.lines[0].cells[2:]
    assert difference.text == "−10.0\u00a0points"
    assert [cell.text for cell in rest] == ["5", "1", "0.22", "6"]
    assert (
        "In fp32 the 3 arms do not all give the same answer to 1 of 40 pictures: number 103 of the set." in losses.notes
    )
    assert "jax in bf16 did not answer: jax does not compute resnet50 in bf16." in losses.notes


def test_terminal_and_page_have_them() -> None:
    run = judged_run()
    text = shown(run)
    assert "Accuracy: ImageNet" in text
    assert "less the same arm in fp32" in text
    page = html.render(run, analyse(run))
    assert '<section class="cases" id="accuracy"' in page
    assert '<a href="#accuracy">' in page
    none = make_run(models=["mlp"], scenarios=["latency"])
    assert 'id="accuracy"' not in html.render(none, analyse(none))


def test_answers_that_failed_or_are_of_another_network_make_a_run_fail() -> None:
    run = judged_run()
    assert analyse(run).exit_code == 0
    crashed = Failure("measure", "crashed", "It ended by SIGSEGV.")
    for change in ({"failure": crashed}, {"equal": False}):
        first = msgspec.structs.replace(run.accuracies[0], **change)
        changed = msgspec.structs.replace(run, accuracies=(first, *run.accuracies[1:]))
        assert analyse(changed).exit_code == 1
        assert "Answers to data sets failed, or are of a worker that is not equal to the reference: 1." in " ".join(
            shown(changed).split()
        )


def test_a_strangers_title_stays_text() -> None:
    run = judged_run()
    named = msgspec.structs.replace(PICTURES, title="<script>x</script>", prepared_by={"<b>": "<i>"})
    run = msgspec.structs.replace(run, data_sets=(named,))
    page = html.render(run, analyse(run))
    assert "<script>x" not in page
    assert "<b> <i>" not in page
