"""A data block of a page holds no markup and no unknown field: a browser and this reader see one and the same page."""

import base64
import contextlib
import gzip
import html.parser
import io
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from selenium import webdriver

from levelfield.errors import LevelfieldError
from levelfield.report import pages
from levelfield.share.attestation import decode
from levelfield.share.verify import render, verify
from tests.attacks.mutating import of_bytes
from tests.share.evidence import key, leave, small

BLOCKS = ("record", "statement")
MARKUP = (
    "</script><h1>FORGED", "</SCRIPT><h1>FORGED", "</script ><h1>FORGED", "</script/><h1>FORGED", "<!--<script>",
    "</Script><meta http-equiv=refresh content=0;url=//example.invalid>", "&lt;/script>",
)  # fmt: skip


class Elements(html.parser.HTMLParser):
    """Tags and attributes, as Python's own tokenizer sees them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: list[object] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, attrs))

    def handle_comment(self, data: str) -> None:
        self.seen.append(data)


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp("signed")
    private, signers = key(folder)
    return (leave(small(), folder / "run", private) / "report.html").read_text(), signers


def with_block(page: str, name: str, change: Callable[[str], str]) -> str:
    start = page.index(f'id="{name}">') + len(f'id="{name}">')
    end = page.index("</script>", start)
    return page[:start] + change(page[start:end]) + page[end:]


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("text", [*MARKUP, "harmless"])
@pytest.mark.parametrize(
    "shape", ['"x":{}', '{}:"x"', '"x":[{{"x":[{}]}}]'], ids=["in a value", "in a key", "in something nested"]
)
def test_a_signed_page_with_more_in_its_data_is_refused(
    signed: tuple[str, Path], block: str, text: str, shape: str
) -> None:
    page, signers = signed
    more = shape.format(json.dumps(text))
    for change in (lambda json_: f"{{{more},{json_[1:]}", lambda json_: f"{json_[:-1]},{more}}}"):
        changed = with_block(page, block, change).encode()
        with contextlib.suppress(LevelfieldError):
            assert verify(decode("x", page=changed), signers=signers).verdict == "verification failed"
            assert block == "statement"


def packed_otherwise(page: str, name: str = "", mtime: int = 0) -> Iterator[str]:
    """The same record as other builds of zlib, and forgers, pack it."""
    block = json.loads(with_only(page, "record"))
    content = gzip.decompress(base64.b64decode(block["data"]))
    for level in range(10):
        stream = io.BytesIO()
        with gzip.GzipFile(name, "wb", level, stream, mtime=mtime) as file:
            file.write(content)
        data = base64.b64encode(stream.getvalue()).decode()
        made = json.dumps(block | {"data": data}, separators=(",", ":"))
        yield with_block(page, "record", lambda _, made=made: made)  # type: ignore[misc]


@pytest.mark.parametrize(("name", "mtime"), [("", 1), ("</script><h1>FORGED", 0)])
def test_nothing_but_the_record_is_packed(signed: tuple[str, Path], name: str, mtime: int) -> None:
    for changed in packed_otherwise(signed[0], name, mtime):
        with pytest.raises(LevelfieldError, match="was changed or damaged"):
            decode("x", page=changed.encode())


def with_only(page: str, name: str) -> str:
    return page.partition(f'id="{name}">')[2].partition("</script>")[0]


ELEMENTS = """
const read = new DOMParser().parseFromString(arguments[0], "text/html");
return [...read.querySelectorAll("*")].map((each) => each.cloneNode(false).outerHTML);
"""


@pytest.mark.browser
def test_a_browser_sees_the_rendered_elements_in_every_page_that_verifies(
    signed: tuple[str, Path], browser: webdriver.Chrome
) -> None:
    """Its tokenizer is of another make than ours; the pages are changed at random, and packed otherwise."""
    page, signers = signed
    rendered = render(decode("x", page=page.encode()))
    rng = random.Random(1)
    fuzzed = [of_bytes(rng, page.encode()) for _ in range(200)]
    holds = []
    for changed in (page.encode(), *map(str.encode, packed_otherwise(page)), *fuzzed):
        with contextlib.suppress(LevelfieldError):
            if verify(decode("x", page=changed), signers=signers).verdict == "verified":
                holds.append(changed)
    assert len(set(holds)) > 10
    browser.get("about:blank")
    wanted = browser.execute_script(ELEMENTS, rendered)
    assert len(wanted) > 100
    for changed in dict.fromkeys(holds):
        assert browser.execute_script(ELEMENTS, changed.decode()) == wanted


@pytest.mark.parametrize("text", MARKUP)
def test_what_is_written_into_a_data_block_stays_data(text: str) -> None:
    block = pages.data_block(msgspec.json.encode({text: [text]}))
    assert msgspec.json.decode(str(block)) == {text: [text]}
    assert Elements(f"<script>{block}</script><p>").seen == Elements("<script></script><p>").seen
