"""What a record with images of a user's own says of them: on the page, in a comparison, in the history, and again."""

import io
import shlex

import msgspec
import pytest
from rich.console import Console

from suite import analysis
from suite.cli.main import bench
from suite.compare.comparison import compare_runs
from suite.compare.reduction import reduce
from suite.compare.types import Verdict
from suite.history import summary
from suite.record.schema import OwnImages, Run
from suite.report import html, rerun, sentences, terminal
from suite.share import card
from tests.records_builder import make_run
from tests.report.hostile import PAYLOAD

OWN = OwnImages("1a2b3c4d5e6f" + "0" * 52, classes=7, trained=720, tested=180)


def run(own: OwnImages | None = OWN, target: float | None = None, seed: int = 1) -> Run:
    made = make_run(models=["mlp"], scenarios=["convergence"], seed=seed)
    return msgspec.structs.replace(
        made, settings=msgspec.structs.replace(made.settings, own_images=own, target=target), id=f"run-{seed}"
    )


def on_the_terminal(record: Run) -> str:
    console = Console(file=io.StringIO(), width=180)
    terminal.show(record, analysis.analyse(record), console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_digest_and_the_numbers_are_reported() -> None:
    record = run(target=0.9)
    page = html.render(record, analysis.analyse(record))
    assert (
        f"the user’s own: 7 classes, 720 images to train on and 180 to test with; SHA-256 of the folder {OWN.sha256}"
        in page
    )
    assert "handwritten digits" not in page
    assert "<dt>target accuracy</dt><dd>90" in page
    assert "training to 97.0\u00a0% on own images 1a2b3c4d5e6f" in on_the_terminal(record)
    assert "on own images 1a2b3c4d5e6f" in card.markdown(record, analysis.analyse(record))
    assert "on the digits" in on_the_terminal(run(None))


@pytest.mark.parametrize(
    "own", [OwnImages(PAYLOAD), OwnImages("", reason=PAYLOAD), OwnImages("\x1b[31m", reason="\x1b")]
)
def test_what_a_stranger_wrote_stays_a_text(own: OwnImages) -> None:
    record = run(own)
    page = html.render(record, analysis.analyse(record))
    assert "<script>window.owned" not in page
    assert "<img src=x" not in page
    assert "\x1b" not in on_the_terminal(record)


def test_other_images_and_other_targets_are_never_compared() -> None:
    def verdicts(first: Run, second: Run) -> set[tuple[Verdict, str]]:
        found = compare_runs([reduce(first, "0" * 64)], [reduce(second, "1" * 64)])
        return {(row.verdict, row.reason) for row in found.rows}

    said = "the images that were trained on are not the same (1a2b3c4d5e6f before, the digits now)"
    assert verdicts(run(), run(None, seed=2)) == {(Verdict.INCOMPARABLE, said)}
    assert {verdict for verdict, _ in verdicts(run(), run(seed=2))} & {Verdict.INCOMPARABLE} == set()
    further = run(seed=3)
    blocks = tuple(
        msgspec.structs.replace(
            block,
            generations=tuple(
                msgspec.structs.replace(
                    generation,
                    launches=tuple(
                        msgspec.structs.replace(
                            launch, convergence=msgspec.structs.replace(launch.convergence, target=0.5)
                        )
                        if launch.convergence is not None
                        else launch
                        for launch in generation.launches
                    ),
                )
                for generation in block.generations
            ),
        )
        for block in further.blocks
    )
    said = "the target accuracy is not the same (0.97 before, 0.5 now)"
    assert verdicts(run(), msgspec.structs.replace(further, blocks=blocks)) == {(Verdict.INCOMPARABLE, said)}


def test_the_history_keeps_them_apart() -> None:
    def names(record: Run) -> set[str]:
        made = summary.summarise(record, analysis.analyse(record), record_sha256="0" * 64, record_bytes=1)
        return {result.id for result in made.results if result.arm == "jax"}

    plain = "jax/mlp/convergence/fp32/b64/t2/cpu"
    assert names(run(None)) == {plain}
    assert names(run()) == {f"{plain}/images-1a2b3c4d5e6f"}
    assert names(run(target=0.9)) == {f"{plain}/images-1a2b3c4d5e6f/to-0.9"}


def test_to_run_it_again_takes_the_folder() -> None:
    words = shlex.split(rerun.command(run(target=0.9)))
    parsed = bench.make_context("bench", words[2:]).params
    assert parsed["data"] == ("FOLDER",)
    assert parsed["target"] == pytest.approx(0.9)
    assert "--data" not in rerun.command(run(None))


def test_texts_are_called_texts() -> None:
    own = msgspec.structs.replace(OWN, task="glue-sst2")
    words = shlex.split(rerun.command(run(own)))
    assert bench.make_context("bench", words[2:]).params["data"] == ("glue-sst2=FOLDER",)
    assert sentences.images(run(own)) == "glue-sst2 1a2b3c4d5e6f"
    assert sentences.trained_items(run(own)) == "texts"
    assert sentences.trained_items(run()) == "images"
    assert "texts of glue-sst2 as bags of words: 7 classes" in sentences.described(run(own))
