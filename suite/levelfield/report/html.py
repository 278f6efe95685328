"""The report as one HTML file: no request to anywhere, readable without JavaScript, its record inside.

Every text in a record comes from a stranger: Jinja2 escapes it, classes and anchors come from fixed sets, and the page
forbids itself frames, forms, requests and every script but its own (Content-Security-Policy).
"""

import functools
import shlex
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import jinja2
import markupsafe
import msgspec
from markupsafe import Markup

from levelfield.analysis import Analysis, processor
from levelfield.options import repeated
from levelfield.options.registry import rerun
from levelfield.record import files, page
from levelfield.record.cpu_lists import as_text
from levelfield.record.page import Evidence
from levelfield.record.schema import Absent, Run
from levelfield.report import answers, charts, environment, hardware, names, overview, pages, sections, sentences, units
from levelfield.report.pages import TEMPLATES


class Compared(msgspec.Struct, frozen=True):
    """What the page of a run of two arms shows of their comparison."""

    title: str
    """The first heading of the page."""
    answer: str
    """In one sentence."""
    sections: Markup


def render(
    run: Run, analysis: Analysis, *, comparison: Compared | None = None, evidence: Evidence | None = None
) -> str:
    """Render a run as one self-contained HTML page; `evidence`: what it carries, None: the record as written today."""
    if evidence is None:
        evidence = page.pack(files.encode(run))
    return pages.render(
        _environment().get_template("page.html.j2"),
        style=style(),
        script=pages.script(),
        run=run,
        analysis=analysis,
        comparison=comparison,
        record_sha256=evidence.sha256,
        **_shown(run, analysis),
        embedded=pages.data_block(evidence.block.encode()),
        attested=pages.data_block(page.attest(evidence)),
    )


def style() -> str:
    return pages.style(TEMPLATES / "interaction.css")


@functools.cache
def _environment() -> jinja2.Environment:
    found = pages.templates(TEMPLATES)
    found.globals |= {"answers": answers, "names": names, "sentences": sentences, "units": units}
    found.filters |= {"code": code, "cpu_list": as_text}
    found.tests["absent"] = lambda value: isinstance(value, Absent)
    return found


def _shown(run: Run, analysis: Analysis) -> dict[str, Any]:
    """Return what the templates show, by the name that they give it; they compute nothing."""
    anchors = names.anchors(_case_ids(analysis))
    cases = [block.case for block in analysis.blocks]
    gpu = "" if run.settings.gpu is None else run.machine.get("gpu", {}).get(f"device {run.settings.gpu} name")
    cores = run.machine.get("cpu", {}).get("cores")
    machine = processor.title(run.machine) + (f", {units.plural(cores, 'core')}" if isinstance(cores, int) else "")
    common = environment.shared(run.images)
    spent, own = analysis.time_spent, run.settings.own
    return {
        "places": {block.case.id: place for place, block in enumerate(run.blocks)},
        "sections": sections.sections(run, analysis, anchors),
        "overviews": overview.tables(analysis, anchors),
        "shown_tables": overview.SHOWN_TABLES,
        "took": elapsed(run.started, run.finished or ""),
        "machine_line": " · ".join(filter(None, (machine, gpu if isinstance(gpu, str) else ""))),
        "models": dict.fromkeys(
            case.model for case in cases if not (case.converges or case.definition.operators or case.definition.driven)
        ),
        "scenarios": dict.fromkeys(case.scenario for case in cases),
        "arms": list(dict.fromkeys((row.arm, row.backend) for block in analysis.blocks for row in block.rows)),
        "settings": environment.settings(run),
        "variables": environment.environment(run),
        "libraries": environment.libraries(run),
        "own_inputs": environment.inputs(own) if own is not None else None,
        "canary": charts.canary(analysis.canary) if analysis.canary is not None else None,
        "time_spent": hardware.time_spent(spent) if spent is not None else None,
        "essentials": environment.essentials(run.machine, run.settings.gpu),
        "machine_groups": environment.groups(run.machine),
        "image_facts": {"common": common, "each": [(each, environment.own_facts(each, common)) for each in run.images]},
        "artifacts": environment.artifacts(run.artifacts),
        "plan": list(environment.plan(run)),
        "command": rerun(run),
        "typed": shlex.join(run.command),
        "reproduced_with": "".join(f" --model {shlex.quote(each)}" for each in repeated.own(run)),
    }


def elapsed(start: str, end: str) -> str:
    """Return the time between two moments as `9 min 12 s`; empty where one is no time, or they are in no order."""
    try:
        seconds = (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
    except (ValueError, TypeError):
        return ""
    return units.duration(seconds) if seconds >= 0 else ""


def code(text: str) -> Markup:
    """Escape a text, and set the parts between `backticks` as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # a tick without its fellow means itself
        return markupsafe.escape(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if index % 2 else markupsafe.escape(part)
        for index, part in enumerate(parts)
    )


def _case_ids(analysis: Analysis) -> Iterator[str]:
    """Return the ids of the cases that have an article of their own, in the page's order."""
    yield from (block.case.id for block in analysis.timed)
    yield from (block.case.id for block in analysis.cold)
    yield from (block.case.id for block in analysis.memory)
