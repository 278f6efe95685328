"""From a stranger's record to what would be run here."""

from functools import partial
from typing import Any

import msgspec
import pytest
from rich.console import RenderableType

from levelfield.analysis.summary import reduce
from levelfield.compare.formats import terminal
from levelfield.compare.reproduce import judge_reproduction
from levelfield.compare.types import Comparison
from levelfield.errors import LevelfieldError
from levelfield.images import base, catalogue, debian
from levelfield.machine.fingerprint import fingerprint
from levelfield.plan import make
from levelfield.plan.cpu_pinning import Requested
from levelfield.record import files
from levelfield.record.schema import Arm, Image, Run
from levelfield.run import reproduce
from levelfield.run.reproduce import Foreign, announced, foreign_table
from tests.commands import ROOT
from tests.compare.runs import with_machine
from tests.report import plain
from tests.run.reproductions import asks, known, record


def of_images(run: Run) -> tuple[reproduce.Foreign, ...]:
    return reproduce.foreign(run, make(reproduce.intent(run).selection, available=[0, 1]))


def test_a_record_of_this_checkout_is_planned_as_it_was() -> None:
    run = known(record("theirs", control="jax"))
    wanted = reproduce.intent(run)
    assert wanted.selection.control == "jax"
    chosen = make(wanted.selection, available=[0, 1])
    assert reproduce.foreign(run, chosen) == ()
    assert {block.case.model for block in chosen.blocks} == {"mlp"}
    assert chosen.backends == ("jax", "onnxruntime", "openvino")


def test_cases_are_those_of_the_record_though_a_profile_has_others_now() -> None:
    run = files.read(ROOT / "reports" / "20261128-111231-standard-8c85")
    run = msgspec.structs.replace(run, blocks=run.blocks[:-1])
    made = make(reproduce.intent(run).selection, available=[0, 1])
    assert len(made.blocks) > len(run.blocks)
    chosen = reproduce.recorded_cases(made, run)
    assert {block.case.id for block in chosen.blocks} == {block.case.id for block in run.blocks}
    assert {block.planned_generations for block in chosen.blocks if block.case.scenario == "memory"} == {3}
    said = "\n".join(reproduce.announced(run, chosen, reproduce.intent(run), "docker"))
    assert "launches of each arm: 3 of memory, 5 or more of latency, in about 5 min 30 s" in said


@pytest.mark.parametrize(("recorded", "planned"), [((), ()), ((0, 1), "all"), ("all", "all"), (None, "all")])
def test_a_record_across_numa_nodes_may_use_several_here(recorded: Requested | None, planned: Requested) -> None:
    run = record("theirs")
    settings = msgspec.structs.replace(run.settings, cpus_requested=recorded)
    assert reproduce.intent(msgspec.structs.replace(run, settings=settings)).selection.cpus == planned


def test_another_lock_is_shown_with_what_would_differ() -> None:
    run = known(record("theirs"))
    jax = next(image for image in run.images if image.name == "jax")
    older = jax.distributions | {"jax": "0.0.1"}
    images = tuple(
        msgspec.structs.replace(image, lock_sha256="a" * 64, distributions=older) if image is jax else image
        for image in run.images
    )
    (foreign,) = of_images(msgspec.structs.replace(run, images=images))
    assert (foreign.image, foreign.theirs) == ("jax cpu", "a" * 12)
    assert foreign.ours == catalogue.lock("jax").sha256[:12]
    assert foreign.differences == (f"jax 0.0.1 → {jax.distributions['jax']}",)


@pytest.mark.parametrize("variant", ["cpu@9.9.9", "cpu@../../../etc/passwd", "../cpu", "cpu@" + "x" * 5000, "cu99"])
def test_a_lock_that_is_not_here_is_no_lock_of_ours(variant: str) -> None:
    run = known(record("theirs"))
    stranger = Image(name="onnxruntime", variant=variant, launcher="docker", lock_sha256="b" * 64)
    (foreign,) = of_images(msgspec.structs.replace(run, images=(*run.images, stranger)))
    assert foreign.ours == ""
    assert foreign.differences


def test_an_ab_is_no_bench() -> None:
    with pytest.raises(LevelfieldError, match="This is the report of an `ab`"):
        reproduce.intent(record("theirs", labels=("ab",)))


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"budget_seconds": 1e300}, "a budget"),
        ({"budget_seconds": -1.0}, "a budget"),
        ({"precision_target": 0.0}, "a target"),
        ({"precision_target": 7.0}, "a target"),
        ({"target": -0.5}, "a target"),
    ],
)
def test_what_no_option_takes_is_refused(settings: dict[str, Any], what: str) -> None:
    with pytest.raises(LevelfieldError, match=f"asks for {what}"):
        reproduce.intent(asks(known(record("theirs")), **settings))


def test_an_arm_that_only_the_results_name_brings_no_image() -> None:
    """What runs follows from the settings; an arm of the results has to be known all the same."""
    run = known(record("theirs"))
    block = msgspec.structs.replace(run.blocks[0], arms=(*run.blocks[0].arms, Arm(backend="own", image="evil")))
    with pytest.raises(LevelfieldError, match="There is no backend called 'own'"):
        reproduce.intent(msgspec.structs.replace(run, blocks=(block, *run.blocks[1:])))


def test_a_base_of_other_packages_is_foreign_and_made_again_as_it_was() -> None:
    run = known(record("theirs"))
    own = debian.lock_of("slim").only("slim")
    first, *others = own.packages
    older = msgspec.structs.replace(own, packages=(msgspec.structs.replace(first, version="1.0"), *others))
    label = f"debian slim {base.identity_of(older, 'slim')}"
    run = msgspec.structs.replace(run, bases={label: older})
    (foreign,) = of_images(run)
    assert (foreign.image, foreign.differences) == ("base slim", (f"{first.name} 1.0 → {first.version}",))
    assert base.describe("slim", reproduce.bases(run)).label == label
    ours = msgspec.structs.replace(run, bases={base.describe("slim").label: own})
    assert of_images(ours) == ()
    assert reproduce.bases(ours) == "debian"


def says(run: Run, launcher: str = "docker") -> str:
    wanted = reproduce.intent(run)
    return "\n".join(announced(run, make(wanted.selection, available=[0, 1]), wanted, launcher))


def test_other_hardware_is_said_before_anything_is_measured() -> None:
    run = known(record("theirs"))
    assert "other hardware" in says(with_machine(run, cpu={"model": "Another"}))
    assert "other hardware" not in says(msgspec.structs.replace(run, machine=fingerprint()))


HOSTILE = "\x1b]0;owned\x07[bold]jax[/]\u202e\x9b31m"


def printed(part: RenderableType | Comparison) -> str:
    if isinstance(part, Comparison):
        return plain.printed(partial(terminal.show, part))
    return plain.printed(lambda console: console.print(part, highlight=False, markup=False))


def exact(name: str, **options: Any) -> Run:
    return record(name, scenarios=["latency"], noise_scale=0.0, **options)


def test_texts_of_a_record_say_nothing_to_the_terminal() -> None:
    ours = with_machine(exact("ours"), kernel={"release": HOSTILE})
    found = judge_reproduction(reduce(msgspec.structs.replace(exact("theirs"), id=HOSTILE), ""), reduce(ours, ""))
    table = foreign_table([Foreign(HOSTILE, HOSTILE, "", (HOSTILE, HOSTILE))])
    for text in (printed(found), printed(table)):
        assert not [sign for sign in text if sign != "\n" and (ord(sign) < 32 or 127 <= ord(sign) < 160)]
        assert "\u202e" not in text
        assert "[bold]jax[/]" in text
