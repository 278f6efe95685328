"""What changed: every fact that differs, nothing that does not, and what differs within a side told apart."""

import msgspec

from levelfield.compare import changes, comparison, phrases
from levelfield.compare.types import Change, ChangeGroup
from levelfield.record.schema import Absent, Arm, Run
from tests.compare.runs import reduced, run, with_arm, with_machine
from tests.records_builder import with_launches

SAME = (("jax", "jax"), ("onnxruntime", "onnxruntime"))


def found(old: list[Run], new: list[Run], pairs: tuple[tuple[str, str], ...] = SAME) -> dict[str, list[Change]]:
    groups = changes.compare_environments([reduced(one) for one in old], [reduced(one) for one in new], pairs)
    return {group.title: list(group.changed) for group in groups if group.changed}


def test_nothing_changed() -> None:
    groups = changes.compare_environments([reduced(run("a"))], [reduced(run("b", seed=2))], SAME)
    assert not [group for group in groups if group.changed]
    titles = [group.title for group in groups]
    for title in ("Kernel", "Image jax", "Settings and libraries of onnxruntime", "Inputs and models"):
        assert title in titles


def test_the_machine_s_facts() -> None:
    new = with_machine(
        run("b"),
        kernel={"release": "6.2"},
        gpu={"driver": "580.95.05"},
        clock={"governor": "powersave"},
        cpu={"microcode": "0xff"},
    )
    old = with_machine(run("a"), gpu={"driver": Absent("no driver answers")}, clock={"governor": "performance"})
    by_title = found([old], [new])
    assert by_title["Kernel"] == [Change("release", "6.1.0-37-amd64", "6.2", "changed")]
    assert by_title["GPU, driver and CUDA"] == [
        Change("driver", "not known: no driver answers", "580.95.05", "changed")
    ]
    assert by_title["Clock and governor"] == [Change("governor", "performance", "powersave", "changed")]
    assert by_title["Processor and microcode"] == [Change("microcode", "0xb002151", "0xff", "changed")]
    assert next(iter(by_title)) == "GPU, driver and CUDA"  # what is asked about first


def test_images_libraries_settings_and_inputs() -> None:
    new = run("b")
    image = new.images[1]
    assert image.name == "onnxruntime"
    image = msgspec.structs.replace(
        image,
        distributions=image.distributions | {"onnxruntime": "1.32.0", "added": "1"},
        layers=(*image.layers[:2], "sha256:other"),
    )
    new = msgspec.structs.replace(new, images=(new.images[0], image))
    new = with_launches(
        new,
        lambda launch: (
            msgspec.structs.replace(
                launch,
                settings=launch.settings | {"threads": "3"},
                libraries=launch.libraries[:1],
                inputs_sha256="f" * 64,
            )
            if launch.arm == "onnxruntime"
            else launch
        ),
    )
    by_title = found([run("a")], [new])
    names = {change.name: (change.old, change.new) for change in by_title["Image onnxruntime"]}
    assert (names["onnxruntime"], names["added"]) == (("1.31.1", "1.32.0"), ("not there", "1"))
    assert names["layer 3"][1] == "sha256:other"
    names = {change.name: (change.old, change.new) for change in by_title["Settings and libraries of onnxruntime"]}
    assert (names["setting threads"], names["loaded oneDNN"][1]) == (("2", "3"), "not there")
    assert "Inputs and models" in by_title
    assert "Settings and libraries of jax" not in by_title


def test_what_differs_within_a_side_is_distinguished() -> None:
    old = [with_machine(run("a"), kernel={"release": "6.1"}), with_machine(run("b"), kernel={"release": "6.2"})]
    (change,) = found(old, [with_machine(run("c"), kernel={"release": "6.2"})])["Kernel"]
    assert (change.state, change.old, change.new) == ("varies", "6.1 (1 run); 6.2 (1 run)", "6.2")


def test_another_version_of_an_arm_is_laid_beside_the_old_one() -> None:
    old = run("a")
    version = Arm("onnxruntime", "onnxruntime", version="1.30.0")
    image = msgspec.structs.replace(old.images[1], variant="cpu@1.30.0", distributions={"onnxruntime": "1.30.0"})
    old = with_arm(msgspec.structs.replace(old, images=(old.images[0], image)), "onnxruntime", version)
    by_title = found([old], [run("b")], (("jax", "jax"), (version.id, "onnxruntime")))
    (title,) = [title for title in by_title if title.startswith("Image")]
    assert "onnxruntime" in title
    assert ("1.30.0", "1.31.1") in [(change.old, change.new) for change in by_title[title]]


def test_of_two_long_lists_only_the_difference_is_shown() -> None:
    flags = "avx avx2 bmi1 bmi2 erms f16c fma ht"
    for old, new, shown in (
        (flags, f"{flags} gfni", ("… (without these)", "… gfni")),
        (f"{flags} x=1", f"{flags} x=2", ("… x=1", "… x=2")),
        ("a b", "a c", ("a b", "a c")),
        (flags, "1 2 3 4 5 6 7 8", (flags, "1 2 3 4 5 6 7 8")),
    ):
        assert phrases.values(Change("flags", old, new, "changed")) == shown


def test_a_run_that_does_not_say_hides_no_change() -> None:
    quiet = with_machine(run("c"), kernel={"release": "6.1"})
    quiet = msgspec.structs.replace(
        quiet, machine={name: facts for name, facts in quiet.machine.items() if name != "kernel"}
    )
    others = [with_machine(run(name), kernel={"release": "6.1"}) for name in "ab"]
    new = [quiet, with_machine(run("d"), kernel={"release": "6.12"})]
    ((change,),) = (each for title, each in found(others, new).items() if title == "Kernel")
    assert (change.name, change.state) == ("release", "varies")


def test_what_a_record_lacks_was_not_recorded() -> None:
    """A group of the fingerprint that an older release did not ask for, and an image without its Python."""
    old, new = run("a"), run("b")
    images = tuple(msgspec.structs.replace(image, python="") for image in new.images)
    new = msgspec.structs.replace(new, images=images)
    new = with_machine(new, cpu={"instruction set": "AVX-512"})
    groups = changes.compare_environments([reduced(old)], [reduced(new)], SAME)
    assert not [group for group in groups if group.changed]
    by_title = {group.title: list(group.unrecorded) for group in groups if group.unrecorded}
    assert by_title["Processor and microcode"] == [Change("instruction set", "not recorded", "AVX-512", "unrecorded")]
    (python,) = by_title["Image jax"]
    assert (python.name, python.old, python.new) == ("Python", old.images[0].python, "not recorded")
    told_in_words = phrases.unrecorded(groups)
    assert told_in_words.startswith("Not recorded by every run: Processor and microcode: instruction set (not recorded")
    assert comparison.note_on_changes(groups) == (
        "Nothing that is recorded about the environment changed between the sides. 3 facts were not recorded by every "
        "run."
    )


def test_a_hostile_number_of_facts_is_bounded() -> None:
    new = with_machine(run("b"), kernel={f"fact {number}": number for number in range(2000)})
    groups: tuple[ChangeGroup, ...] = changes.compare_environments([reduced(run("a"))], [reduced(new)], SAME)
    assert len(next(group for group in groups if group.title == "Kernel").changes) == changes.MOST
