"""Records of earlier versions may have trained on a user's own images: they are kept apart from the digits."""

import msgspec
import pytest

from levelfield import analysis
from levelfield.analysis import summary
from levelfield.analysis.summary import reduce
from levelfield.compare.comparison import compare_runs
from levelfield.compare.types import Verdict
from levelfield.errors import LevelfieldError
from levelfield.record.schema import OwnImages, Run
from levelfield.report import html
from levelfield.run import reproduce
from tests.records_builder import make_run


def run(own: OwnImages | None, seed: int) -> Run:
    made = make_run(models=["mlp"], scenarios=["convergence"], seed=seed)
    settings = msgspec.structs.replace(made.settings, own_images=own)
    return msgspec.structs.replace(made, settings=settings, id=f"run-{seed}")


def test_they_are_shown_and_never_compared_with_the_digits_nor_reproduced() -> None:
    own, digits = run(OwnImages("1a2b3c4d5e6f" + "0" * 52), 1), run(None, 2)
    found = compare_runs([reduce(own, "0" * 64)], [reduce(digits, "1" * 64)])
    said = "the images that were trained on are not the same (1a2b3c4d5e6f before, the digits now)"
    assert {(row.verdict, row.reason) for row in found.rows} == {(Verdict.INCOMPARABLE, said)}
    made = summary.summarise(own, analysis.analyse(own), record_sha256="0" * 64, record_bytes=1)
    assert {result.id for result in made.results if result.arm == "jax"} == {
        "jax/mlp/convergence/fp32/b64/t2/cpu/images-1a2b3c4d5e6f"
    }
    assert "real images (own images 1a2b3c4d5e6f)" in html.render(own, analysis.analyse(own))
    with pytest.raises(LevelfieldError, match="images of its author's own"):
        reproduce.intent(own)
