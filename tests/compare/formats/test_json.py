"""The comparison as JSON."""

import json

from levelfield.compare.formats import WRITERS
from tests.compare.formats.samples import hostile, upgrade
from tests.report.hostile import PAYLOAD


def test_json_says_all_of_it_again() -> None:
    found = json.loads(WRITERS["json"](upgrade()))
    assert next(iter(found)) == "answer"
    assert found["exit_code"] == 1
    assert len(found["rows"]) == len(upgrade().rows)
    assert {row["verdict"] for row in found["rows"]} == {row.verdict.value for row in upgrade().rows}
    assert found["rows"][0]["id"] == upgrade().rows[0].id
    assert found["old"]["runs"][0]["sha256"] == "0" * 64
    changed = [
        change["new"] for group in json.loads(WRITERS["json"](hostile()))["changes"] for change in group["changes"]
    ]
    assert f"{PAYLOAD}2" in changed
