"""Data sets in real containers: what decodes and splits them, and a run that answers one, from command to page."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import docker
import msgspec
import numpy as np
import pytest

from levelfield.analysis import accuracy
from levelfield.errors import LevelfieldError
from levelfield.launchers.docker import DockerLauncher
from levelfield.paths import cache_folder
from levelfield.prepare.own_weights import store as own_weights
from levelfield.record import files
from levelfield.record.page import NAME as REPORT
from levelfield.schedule.data_sets import DataRequest
from levelfield.worker import items
from levelfield.zoo import models, reference, weights
from levelfield_datasets import bert, preparing, preprocessor
from levelfield_datasets.preprocessor import Preprocessor
from tests import plugged, small_sets
from tests.benches import cut_off
from tests.commands import IMPORTS, ROOT, one_clear_sentence, run
from tests.engines import none_left
from tests.prepare.own_weights import saved

pytestmark = pytest.mark.docker

ITEMS = 24
JPEG = Path(__file__).with_name("waves.jpg")
"""Made by Pillow 13.0.0 of `small_sets.picture(1)`, quality 90."""
POSTSCRIPT = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\nshowpage\n"
"""Which Pillow would hand to Ghostscript."""
JPEG_SHA256 = "7ccab827d87d3927ec39147516024b07f2ba5ea3ddb5d58a1ac42a5e0b69aca7"
"""Of what torchvision 0.28.0 makes of it: `Resize(256)` and `CenterCrop(224)`, as uint8."""


def prepared(
    engine: docker.DockerClient, artifacts: Path, task: str, path: Path, network: str, *beside: Path
) -> preparing.Judged:
    artifacts.mkdir(exist_ok=True)
    (made,) = preparing.prepare(
        [DataRequest(task, path)], [network], DockerLauncher(engine), artifacts, beside, lambda _: None
    )
    return made


@pytest.fixture(scope="module", autouse=True)
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Variables of a command that finds the plug-in."""
    folder = plugged.install(ROOT / "plugins" / "datasets", tmp_path_factory.mktemp("installed"))
    with plugged.seen(folder):
        yield {"PYTHONPATH": f"{folder}:{IMPORTS}"}


@pytest.fixture(scope="module")
def opened(engine: docker.DockerClient, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Preprocessor]:
    launcher = DockerLauncher(engine)
    image = launcher.prepare(preprocessor.IMAGE, "cpu", None, lambda _: None)
    with preprocessor.opened(launcher, image, tmp_path_factory.mktemp("artifacts")) as up:
        yield up


def test_a_picture_becomes_what_torchvision_makes_of_it(opened: Preprocessor) -> None:
    broken = JPEG.read_bytes()[:2000]
    pixels, reasons = opened.decode([JPEG.read_bytes(), broken, POSTSCRIPT, small_sets.png(small_sets.picture(3))])
    assert hashlib.sha256(pixels[0].tobytes()).hexdigest() == JPEG_SHA256
    assert reasons[0] == reasons[3] == ""
    assert "truncated" in reasons[1]
    assert "cannot identify" in reasons[2]
    assert pixels[3].any()
    assert not pixels[2].any()


def test_texts_become_pieces_of_the_vocabulary(opened: Preprocessor, tmp_path: Path) -> None:
    small_sets.squad(tmp_path)
    found = bert.find_vocabulary((tmp_path,), 30522)
    # Longest pieces first, small letters, accents gone, punctuation apart; where a piece stands is kept.
    (split,) = opened.tokenize(found, ["Márie  lives in Paris, €"])
    pieces = found.content.split("\n")
    assert " ".join(pieces[number] for number in split.ids) == "m ##a ##r ##i ##e live ##s in paris , [UNK]"
    assert split.starts == (0, 1, 2, 3, 4, 7, 11, 13, 16, 21, 23)
    assert split.ends == (1, 2, 3, 4, 5, 11, 12, 15, 21, 22, 24)


def test_questions_become_windows(engine: docker.DockerClient, tmp_path: Path) -> None:
    artifacts = tmp_path / "artifacts"
    found = prepared(engine, artifacts, "squad", small_sets.squad(tmp_path / "squad"), "bert-squad")
    table = items.read(artifacts / found.path, models.get("bert-squad"))
    assert len(table) == found.records == len(found.spans) > len(found.questions) == 3
    for record, span, place in zip(table, found.spans, found.asked, strict=True):
        length = int(record["attention_mask"].sum())
        assert span.begins == int(record["token_type_ids"].argmax())
        assert length == span.begins + len(span.starts) + 1
        assert record["input_ids"][span.begins - 1] == record["input_ids"][length - 1] == 3
        question = found.questions[place]
        assert question.context[span.starts[0] : span.ends[0]] in question.context
    again = prepared(engine, artifacts, "squad", tmp_path / "squad", "bert-squad")
    assert msgspec.structs.replace(again, data_set=found.data_set) == found

    pairs = prepared(engine, artifacts, "glue-sst2", small_sets.sst2(tmp_path / "sst2", [0, 1, 1]), "bert-classifier-2")
    assert pairs.data_set.labels == (0, 1, 1)

    spoiled = small_sets.imagenet(tmp_path / "spoiled", [0, 1])
    (spoiled / "001.png").write_bytes((spoiled / "001.png").read_bytes()[:900])
    with pytest.raises(LevelfieldError, match=r"“001\.png” is no picture that can be read: “"):
        prepared(engine, artifacts, "imagenet", spoiled, "resnet50")
    (spoiled / "001.png").unlink()
    with pytest.raises(LevelfieldError, match=r"“001\.png”, the picture, cannot be read: No such file"):
        prepared(engine, artifacts, "imagenet", spoiled, "resnet50")


def right_labels(engine: docker.DockerClient, folder: Path, artifacts: Path) -> list[int]:
    """Return what the float64 reference of MobileNetV2 answers to pictures."""
    model = models.get("mobilenet")
    found = prepared(engine, artifacts, "imagenet", folder, "mobilenet")
    given = items.inputs_of(items.read(artifacts / found.path, model), model)
    return [int(each) for each in reference.run(model, weights.make(model), given).argmax(axis=1)]


@pytest.mark.extended
def test_a_run_answers_pictures_and_says_what_a_lower_precision_costs(
    engine: docker.DockerClient, tmp_path: Path, installed: dict[str, str]
) -> None:
    tmp_path.chmod(0o755)
    reports, folder = tmp_path / "reports", small_sets.imagenet(tmp_path / "Zoë's <b>set", [0] * ITEMS)
    labels = right_labels(engine, folder, cache_folder("artifacts"))
    # With seeded weights it answers much the same to every picture: what is shown is that fp32 answers as float64 does.
    labels[0] = (labels[0] + 1) % 1000  # one label is wrong
    small_sets.imagenet(folder, labels)
    command = run(
        "bench", "--profile", "smoke", "--models", "mobilenet", "--backends", "torch,jax", "--precision", "fp32,bf16",
        "--variant", "cpu", "--data", f"imagenet={folder}", "--reports", reports, "--control", "none",
        folder=tmp_path, environment=installed,
    )  # fmt: skip
    one = files.read(next(reports.glob("*/report.html")).parent)
    (known,) = one.data_sets
    assert (known.available, known.labels) == (ITEMS, tuple(labels))
    (found,) = accuracy.summarise(one)
    rows = {(row.arm, row.precision): row for row in found.rows}
    assert set(rows) == {(arm, precision) for arm in ("torch", "jax") for precision in ("fp32", "bf16")}
    for (_, precision), row in rows.items():
        assert row.failure == ""
        top = row.scores[0]
        assert top.value is not None
        assert precision != "fp32" or top.value == (ITEMS - 1) / ITEMS
    assert found.splits[0].items == ()
    for loss in found.losses:
        assert loss.precision == "bf16"
        assert -1 <= loss.difference <= 1 / ITEMS
    assert f"{100 * (ITEMS - 1) / ITEMS:.1f}" in command.out
    text = (reports / one.id / REPORT).read_text(encoding="utf-8")
    assert "In fp32 all 2 arms gave the same answers to 24 pictures." in text
    assert "Zoë" not in text + files.content_of(reports / one.id).decode()
    assert none_left(engine, command.pid)

    cut_off(reports / one.id)
    resume = ("bench", "--resume", one.id, "--reports", reports)
    one_clear_sentence(
        run(*resume, folder=tmp_path, environment=installed), "That run answers ImageNet too", "--data imagenet=PATH"
    )
    (folder / "000.png").write_bytes(small_sets.png(small_sets.picture(99)))
    other = run(*resume, "--data", f"imagenet={folder}", folder=tmp_path, environment=installed)
    one_clear_sentence(other, "ImageNet is not what was answered before")
    assert np.all(np.array(known.items) == np.arange(ITEMS))


@pytest.mark.extended
@pytest.mark.parametrize("backends", ["torch,tensorflow,jax,onnxruntime,openvino"])
def test_weights_of_ones_own_answer_texts(
    engine: docker.DockerClient, tmp_path: Path, installed: dict[str, str], backends: str
) -> None:
    tmp_path.chmod(0o755)
    folder, network = tmp_path / "texts", saved.classifier(tmp_path / "network", 2, lift=5.2)
    small_sets.sst2(folder, [0] * ITEMS)
    (folder / "vocab.txt").rename(network / "vocab.txt")  # it may lie beside the weights
    (kept,), _ = own_weights.read((network,), ("bert",), headed=True)
    model, artifacts = models.get(kept.model), cache_folder("artifacts")
    found = prepared(engine, artifacts, "glue-sst2", folder, model.name, network)
    given = items.inputs_of(items.read(artifacts / found.path, model), model)
    outputs = reference.run(model, own_weights.load(model, artifacts), given)
    labels = [int(each) for each in outputs.argmax(axis=1)]
    assert 0 < sum(labels) < ITEMS  # a network that answers alike to everything would show nothing
    labels[3] = 1 - labels[3]
    small_sets.sst2(folder, labels)
    (folder / "vocab.txt").unlink()
    command = run(
        "bench", "--profile", "smoke", "--models", "bert", "--model", network, "--data", f"glue-sst2={folder}",
        "--backends", backends, "--control", "none", "--threads", "1", "--budget", "5s", "--variant", "cpu",
        "--reports", tmp_path / "reports", folder=tmp_path, environment=installed,
    )  # fmt: skip
    assert command.code == 0, command.err + command.out
    one = files.read(next((tmp_path / "reports").glob("*/report.html")).parent)
    (judged,) = accuracy.summarise(one)
    assert {row.arm for row in judged.rows} == set(backends.split(","))
    for row in judged.rows:
        assert row.failure == ""
        assert row.equal
        assert row.scores[0].value == (ITEMS - 1) / ITEMS
    assert "seeded, not trained" not in command.out
