"""Everything that reads what somebody else wrote, each as one function from bytes: it accepts them, or says why not.

`corpus/` holds a folder for every reader: what it reads when all is well, and what once broke it.
"""

import contextlib
import functools
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from rich.console import Console

from levelfield import analysis
from levelfield.analysis import guarded, summaries, summary
from levelfield.analysis.summary import reduce
from levelfield.cli import config
from levelfield.cli.main import cli
from levelfield.compare import baselines, gate
from levelfield.errors import LevelfieldError
from levelfield.images import published
from levelfield.images.bundle import unpack
from levelfield.launchers import credible
from levelfield.plan import make
from levelfield.prepare.own_model import python_file, store
from levelfield.prepare.own_weights import store as own_weights
from levelfield.record import files, references
from levelfield.record import page as record_page
from levelfield.record.schema import Run
from levelfield.report import export, html, terminal
from levelfield.report.export import TABLES
from levelfield.run import bench, reproduce
from levelfield.share import card, statement
from levelfield.share.attestation import read
from levelfield.share.verify import verify
from levelfield.worker.messages import Reply
from tests.commands import ROOT
from tests.prepare.own_weights import saved

CORPUS = Path(__file__).parent / "corpus"
IMPORTS = ROOT / "plugins" / "readers" / "tests" / "data"
REFUSALS = (LevelfieldError,)
"""How a reader says that it does not take something."""


class Reader(msgspec.Struct, frozen=True):
    """One way in."""

    read: Callable[[bytes, Path], object]
    """Takes the bytes and an empty folder; raises one of `REFUSALS`, or nothing."""
    share: int
    """Of all cases, against the others' shares: what computes with a whole record takes a hundred times longer."""


def seeds(name: str) -> tuple[bytes, ...]:
    """Return what a reader's cases are made from."""
    return _SEEDS[name]() if name in _SEEDS else _files(name)


@functools.cache
def _files(name: str) -> tuple[bytes, ...]:
    return tuple(path.read_bytes() for path in sorted((CORPUS / name).iterdir()))


def record(content: bytes, folder: Path) -> None:
    """Whatever is computed and shown of a record."""
    (folder / files.NAME).write_bytes(content)
    known = guarded.read(folder)
    run, found = known.run, known.analysis
    with guarded.computing(known.name):
        html.render(run, found).encode("utf-8", "replace")
        terminal.show(run, found, Console(file=io.StringIO(), width=200))
        card.svg(run, found).encode("utf-8", "replace")
        card.markdown(run, found).encode("utf-8", "replace")
        for table in TABLES:
            for _ in export.rows(table, run, found):
                pass
        reduce(run, known.sha256)
        summary.summarise(run, found, record_sha256=known.sha256, record_bytes=known.size_bytes)


def plan(content: bytes, folder: Path) -> None:
    """What a record would have `reproduce` run."""
    del folder
    run = guarded.decode(content, files.NAME)
    reproduce.foreign(run, make(reproduce.intent(run).selection, available=[0, 1]))


def page(content: bytes, folder: Path) -> None:
    """A page whose record is this, all its digests fitting."""
    before, _, rest = _page().partition('id="record">')
    _, _, after = rest.partition("</script>")
    text_of_page(f'{before}id="record">{record_page.pack(content).block}</script>{after}'.encode(), folder)


def text_of_page(content: bytes, folder: Path) -> None:
    (folder / "report.html").write_bytes(content)
    verify(read(folder / "report.html"))


def journal_of_run(content: bytes, folder: Path) -> None:
    """What is resumed is read again."""
    (folder / files.JOURNAL).write_bytes(content)
    _, run = bench.find(str(folder), folder)
    try:
        with guarded.computing(files.NAME):
            analysis.analyse(guarded.decode(msgspec.json.encode(run), files.NAME))
    except LevelfieldError as error:
        raise AssertionError(str(error)) from error


def bundle(content: bytes, folder: Path) -> None:
    (folder / "bundle").write_bytes(content)
    unpack(folder / "bundle")


def summary_of_run(content: bytes, folder: Path) -> None:
    (folder / summaries.NAME).write_bytes(content)
    (folder / files.NAME).write_bytes(bytes(1000))
    kept = summaries.kept(folder)
    if kept is not None:
        summaries.is_own(kept, b"a key")


def signed_statement(content: bytes, folder: Path) -> None:
    """A statement beside a record, and the block with one inside a page."""
    (folder / files.NAME).write_bytes(_files("record")[0])
    (folder / statement.NAME).write_bytes(content)
    verify(read(folder / files.NAME))
    record_page.split(
        _page().encode().replace(b"</body>", b'<script type="application/json" id="statement">' + content)
    )


def baseline(content: bytes, folder: Path) -> None:
    """A baseline; the runs that the committed one names are there."""
    for name, record in (("a", "four-scenarios"), ("b", "trainings")):
        (folder / name).mkdir()
        (folder / name / files.NAME).write_bytes((CORPUS / "record" / f"{record}.json").read_bytes())
    (folder / baselines.FOLDER).mkdir()
    (folder / baselines.FOLDER / "good.json").write_bytes(content)
    baselines.records(baselines.read("good", folder), folder)


def reply(content: bytes, folder: Path) -> None:
    """A worker's line; `launchers.worker` calls what cannot be decoded a protocol error."""
    del folder
    try:
        decoded = _decoder.decode(content)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return
    credible.implausibility(decoded, 10**9)


def own_file(content: bytes, folder: Path) -> None:
    """An ONNX file; its copy goes to the cache, which the caller has put into a folder of its own."""
    (folder / "model.onnx").write_bytes(content)
    store.read(folder / "model.onnx", {}, {})


def weights(content: bytes, folder: Path) -> None:
    """A safetensors file beside a configuration that fits."""
    (folder / "config.json").write_bytes(_configuration())
    (folder / "model.safetensors").write_bytes(content)
    own_weights.keep(folder)


def weights_configuration(content: bytes, folder: Path) -> None:
    """A configuration beside tensors that fit, in two files named by an index; and the same as the index."""
    saved.folder(folder / "saved", {}, saved.tiny_tensors(), shards=2)
    for name in ("config.json", "model.safetensors.index.json"):
        (folder / "saved" / name).write_bytes(content)
        with contextlib.suppress(LevelfieldError):
            own_weights.keep(folder / "saved")
        (folder / "saved" / "config.json").write_bytes(_configuration())


def python(content: bytes, folder: Path) -> None:
    """A network in Python, which is parsed and not run."""
    (folder / "net.py").write_bytes(content)
    python_file.keep(f"{folder / 'net.py'}:build")


def images_file(content: bytes, folder: Path) -> None:
    """Where images are in a registry, and their names."""
    (folder / "images.json").write_bytes(content)
    for each in published.read(folder / "images.json").images:
        references.parse(str(each.name))


def noise_gate(content: bytes, folder: Path) -> None:
    (folder / "gate.toml").write_bytes(content)
    gate.read(folder / "gate.toml")


def defaults(content: bytes, folder: Path) -> None:
    """Defaults of options in the folder that a command is called in."""
    (folder / config.FILE).write_bytes(content)
    config.read(folder / config.FILE, cli)


def imported(content: bytes, folder: Path) -> None:
    """A file of another tool, as a record."""
    del folder
    from levelfield_readers import json_tools, loadgen, making, recorded

    parsers = (each for file in (json_tools, loadgen) for each in vars(file).values() if type(each) is recorded.Reader)
    parse = next((each.parse for each in parsers if any(mark in content for mark in each.marks)), None)
    if parse is None:
        return
    made = making.make(parse(content), sha256="0" * 64, now="2026-01-02T03:04:05Z", tool_sha256="", command=("x",))
    run = guarded.decode(msgspec.json.encode(made), "it")
    with guarded.computing("it"):
        analysis.analyse(run)


def data_set(content: bytes, folder: Path) -> None:
    """A file of a data set, as each of those that the supervisor reads."""
    from levelfield_datasets import bert, glue, imagenet, squad
    from levelfield_datasets.files import UnusableError

    for name in (squad_file := "dev-v1.1.json", imagenet.LABELS[0], bert.VOCABULARY, bert.CONFIGURATION):
        (folder / name).write_bytes(content)
    said = []
    reads: tuple[Callable[[], object], ...] = (
        lambda: squad.read(folder / squad_file),
        lambda: imagenet.list_pictures(folder, 10),
        lambda: bert.find_vocabulary([folder], 30_522),
        *(functools.partial(glue.read, folder / squad_file, table) for _, table, _ in glue.TABLES.values()),
    )
    for look in reads:
        try:
            look()
        except UnusableError as error:
            said.append(str(error))
    if len(said) > len(glue.TABLES) + 2:
        raise LevelfieldError(max(said, key=len))


_decoder: msgspec.json.Decoder[Reply] = msgspec.json.Decoder(Reply)

READERS: dict[str, Reader] = {
    "record": Reader(record, 2),
    "plan": Reader(plan, 8),
    "page": Reader(page, 2),
    "page-text": Reader(text_of_page, 2),
    "journal": Reader(journal_of_run, 4),
    "bundle": Reader(bundle, 12),
    "summary": Reader(summary_of_run, 16),
    "statement": Reader(signed_statement, 4),
    "baseline": Reader(baseline, 12),
    "reply": Reader(reply, 16),
    "own-file": Reader(own_file, 8),
    "weights": Reader(weights, 8),
    "weights-configuration": Reader(weights_configuration, 8),
    "python": Reader(python, 8),
    "images": Reader(images_file, 8),
    "gate": Reader(noise_gate, 1),
    "defaults": Reader(defaults, 8),
    "imports": Reader(imported, 16),
    "data": Reader(data_set, 8),
}


@functools.cache
def _run() -> Run:
    return files.decode(_files("record")[0], files.NAME)


@functools.cache
def _page() -> str:
    return html.render(_run(), analysis.analyse(_run()))


def _configuration() -> bytes:
    return msgspec.json.encode(saved.TINY)


def _indices() -> Sequence[bytes]:
    placed = {name: f"model-0000{1 + at % 2}-of-00002.safetensors" for at, name in enumerate(saved.tiny_tensors())}
    return _configuration(), msgspec.json.encode({"metadata": {}, "weight_map": placed})


_NETWORK = b"import torch\n\ndef build():\n    return torch.nn.Linear(2, 2), ()\n"
_DATA = (
    b'{"version":"1.1","data":[{"paragraphs":[{"context":"b","qas":[{"id":"1","question":"a","answers":[{"text":"b"}]}]}]}]}',
    b"sentence1\tsentence2\tlabel\tscore\nOne.\tTwo.\t1\t2.5\n",
    b"a.jpg 1\nb.jpg 2\n",
    b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\n",
)
_SEEDS: dict[str, Callable[[], Any]] = {
    "weights": lambda: (saved.safetensors(saved.tiny_tensors()),),
    "weights-configuration": _indices,
    "python": lambda: (_NETWORK,),
    "gate": lambda: tuple(path.read_bytes() for path in (ROOT / "reports" / "trials").glob("gate-*.toml")),
    "defaults": lambda: (b'reports = "results"\n\n[bench]\nmodels = ["mlp", "bert"]\nbudget = "20m"\n',),
    "page": lambda: _files("record")[:3],
    "page-text": lambda: (_page().encode(),),
    "plan": lambda: _files("record"),
    "data": lambda: _DATA,
    "imports": lambda: tuple(path.read_bytes() for path in sorted(IMPORTS.iterdir()) if path.suffix != ".md"),
}


def numpy_is_ready() -> None:
    """Let what is loaded at first use be loaded: no case is charged for it."""
    np.linalg.norm(np.ones((2, 2)))
    for name in READERS:
        seeds(name)
