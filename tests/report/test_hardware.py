"""Costs on the page and in the terminal: what was given, the unit in each heading, and why a number is missing."""

from functools import partial

import pytest

from levelfield.analysis import analyse, money
from levelfield.record.schema import Price, Run
from levelfield.report import hardware, html, terminal
from levelfield.report.tables import Table
from tests.records_builder import make_run
from tests.report import plain


@pytest.fixture
def run() -> Run:
    return make_run(models=("mlp",), backends=("torch", "jax"), scenarios=("latency", "cold-start"), control="jax")


def tables(run: Run) -> tuple[Table, ...]:
    return hardware.cost_tables(run, analyse(run))


def printed(run: Run) -> str:
    return plain.printed(partial(terminal.show, run, analyse(run)), 160)


def test_a_run_without_a_price_says_nothing_of_cost(run: Run) -> None:
    assert 'id="cost"' not in html.render(run, analyse(run))
    assert "Cost:" not in printed(run)


def test_the_page_and_the_terminal_show_the_same_table(run: Run) -> None:
    priced = money.at(run, Price(1.2, "EUR"))
    (table,) = tables(priced)
    assert table.heads[1].text == "EUR a million items"
    assert {line.arm for line in table.lines} == {"torch", "jax", "jax#2"}
    page, text = html.render(priced, analyse(priced)), printed(priced)
    section = page[page.index('id="cost"') :]
    for line in table.lines:
        assert line.cells[1].text in section
        assert line.cells[1].line in text
    assert "1.2\N{NO-BREAK SPACE}EUR/h" in section
    assert "1.2 EUR/h" in text.replace("\N{NO-BREAK SPACE}", " ")


def test_a_reason_of_one_arm_names_it() -> None:
    made = make_run(models=("mlp",), backends=("torch", "jax"), scenarios=("latency",), unequal=[("jax", "mlp")])
    (table,) = tables(money.at(made, Price(0.5)))
    (note,) = table.notes
    assert note.startswith("No cost of jax: not equal to the reference")


def test_a_currency_from_a_record_is_data(run: Run) -> None:
    priced = money.at(run, Price(1.2, "[b]<i>\x1b"))
    assert "\x1b" not in printed(priced)
    assert "[b]<i>" in printed(priced)
    assert "[b]&lt;i&gt;" in html.render(priced, analyse(priced))
