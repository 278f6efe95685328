"""The reference of the record has every type and every field, with what the code says of them."""

import json
import re

from docs.site import record_pages
from levelfield.record import schema

PAGES = dict(record_pages.pages())
TEXT = PAGES["reference/record.md"]


def test_every_type_of_the_schema_has_a_section_with_its_fields() -> None:
    defined = json.loads(PAGES["reference/run.schema.json"])["$defs"]
    assert len(defined) > 20
    for name, what in defined.items():
        if what.get("type") != "object" or not hasattr(schema, name):
            continue
        section = re.search(rf"^## {name}\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL)
        assert section is not None, name
        for field in what["properties"]:
            assert f"| `{field}` |" in section[1] or field == "type", f"{name}.{field}"


def test_a_field_has_its_type_its_default_and_its_description() -> None:
    assert "| `threads` | int | required | Of every process. |" in TEXT
    assert "| `device` | str | `cpu` |  |" in TEXT


def test_types_lead_to_their_sections() -> None:
    for anchor in re.findall(r"\]\(#(\w+)\)", TEXT):
        assert re.search(rf"^## {anchor}$", TEXT, re.MULTILINE | re.IGNORECASE), anchor


def test_nothing_in_a_cell_ends_it() -> None:
    rows = [line for line in TEXT.splitlines() if line.startswith("| `")]
    assert len(rows) > 100
    assert not [row for row in rows if row.replace("\\|", "").count("|") != 5]
