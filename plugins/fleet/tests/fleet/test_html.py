"""The verdict on a fleet as a page."""

import base64
import hashlib
import json
import re

import msgspec
import pytest

from levelfield_fleet import html
from levelfield_fleet.types import Fleet
from tests.fleet.samples import fine, fleet, hostile, large
from tests.report.test_html import Page

MOST_BYTES = 5_000_000


@pytest.mark.parametrize("verdict", [fleet(), fine(), hostile()], ids=["all", "fine", "hostile"])
def test_the_page_is_one_file_that_asks_for_nothing(verdict: Fleet) -> None:
    page = Page(html.write(verdict))
    assert not page.all("img") + page.all("iframe") + page.all("form") + page.all("object")
    for tag, attributes in page.elements:
        assert not any(name.startswith("on") or name == "style" for name in attributes), tag
        assert str(attributes.get("href", "#")).startswith(("#", "data:,", "./")), tag
    (policy,) = (meta["content"] for meta in page.all("meta") if meta.get("http-equiv") == "Content-Security-Policy")
    assert str(policy).startswith("default-src 'none'; style-src 'sha256-")
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    inner = {str(link["href"])[1:] for link in page.all("a") if str(link["href"]).startswith("#")}
    assert inner <= set(ids)
    assert all(cell.get("scope") in {"row", "col"} for cell in page.all("th"))


def test_the_policy_names_the_script_that_is_there() -> None:
    written = html.write(fleet())
    script = re.findall(r"<script>(.*?)</script>", written, re.DOTALL)
    assert len(script) == 1
    digest = base64.b64encode(hashlib.sha256(script[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in written.replace("&#39;", "'")


def test_a_report_is_linked_by_a_relative_address() -> None:
    addresses = {str(link["href"]) for link in Page(html.write(fleet(), "../runs of tonight")).all("a")}
    assert "./../runs%20of%20tonight/node-0003/report.html" in addresses
    outside = {str(link["href"]) for link in Page(html.write(hostile())).all("a")}
    assert all(address.startswith(("#", "./javascript%3Aowned")) for address in outside)
    assert not any(re.search(r"[<>\"' ]", address) for address in outside)


def test_every_cell_is_a_sign_without_the_script() -> None:
    page = html.write(fleet())
    rows = re.findall(r"<tr><th scope=\"row\">(.*?)</th>(.*?)</tr>", page.partition('class="heat"')[2], re.DOTALL)
    by_node = {re.sub(r"<[^>]*>", "", name): re.findall(r">([^<]*)</td>", cells) for name, cells in rows[:8]}
    assert len(by_node) == 8
    assert all(len(signs) == 4 and all(signs) for signs in by_node.values())
    assert "▲\u00a012" in by_node["node-0002"]
    assert "✗" in by_node["node-0001"]


def test_the_script_is_given_what_is_known_of_each_cell() -> None:
    (text,) = re.findall(r'<script type="application/json">(.*?)</script>', html.write(fleet()), re.DOTALL)
    known = json.loads(text)
    assert [len(row) for row in known["cells"]] == [4] * 8
    nodes = [node.name for node in fleet().nodes]
    (cell,) = (each for each in known["cells"][nodes.index("node-0002")] if known["words"][each[0]] == "slow")
    assert cell[2:] == [5, 0.0123, 1.12, 1.098, 1.142]


def test_a_node_that_lacks_a_case_has_a_cell_all_the_same() -> None:
    less = msgspec.structs.replace(fleet(), cells=fleet().cells[1:])
    known = re.findall(r'<script type="application/json">(.*?)</script>', html.write(less), re.DOTALL)[0]
    assert sum(cell == [] for row in json.loads(known)["cells"] for cell in row) == 1


def test_a_thousand_nodes_by_thirty_cases_are_a_few_megabytes() -> None:
    assert len(html.write(large(1000, 30)).encode()) < MOST_BYTES
