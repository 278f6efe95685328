"""Costs on the page and in the terminal: what was given, the unit in each heading, and why a number is missing."""

import io

import pytest
from rich.console import Console

from suite.analysis import analyse, money
from suite.record.schema import Absent, Price, Run
from suite.report import costs, html, terminal
from tests.analysis.test_energy import with_energy
from tests.records_builder import make_run


@pytest.fixture
def run() -> Run:
    made = make_run(models=("mlp",), backends=("torch", "jax"), scenarios=("latency", "cold-start"), control="jax")
    return with_energy(made, 50_000)


def printed(run: Run) -> str:
    stream = io.StringIO()
    terminal.show(run, analyse(run), Console(file=stream, width=160))
    return stream.getvalue()


def test_a_run_without_a_price_says_nothing_of_cost(run: Run) -> None:
    assert 'id="cost"' not in html.render(run, analyse(run))
    assert "CO₂e" not in printed(run)
    assert "Cost:" not in printed(run)


def test_the_page_and_the_terminal_show_the_same_table(run: Run) -> None:
    priced = money.at(run, Price(1.2, "EUR"), 380.0)
    (table,) = costs.tables(priced, analyse(priced))
    assert table.headings == ("EUR a million items", "g CO₂e a million items")
    assert {line.arm for line in table.lines} == {"torch", "jax", "jax#2"}
    page, text = html.render(priced, analyse(priced)), printed(priced)
    section = page[page.index('id="cost"') :]
    for line in table.lines:
        for value, bounds in line.cells:
            assert value in section
            assert f"{value} ({bounds})" in text
    for said in ("1.2\N{NO-BREAK SPACE}EUR/h", "380 g of CO₂e a kWh", "Energy is that of the processor."):
        assert said in section
        assert said.replace("\N{NO-BREAK SPACE}", " ") in " ".join(text.replace("\N{NO-BREAK SPACE}", " ").split())


def test_only_the_columns_that_were_asked_for(run: Run) -> None:
    (table,) = costs.tables(money.at(run, Price(0.5), None), analyse(run))
    assert table.headings == ("Cost a million items",)
    assert table.notes == ()
    (table,) = costs.tables(money.at(run, None, 380.0), analyse(run))
    assert table.headings == ("g CO₂e a million items",)


def test_no_counter_is_said_once() -> None:
    made = make_run(models=("mlp",), backends=("torch", "jax"), scenarios=("latency",))
    priced = money.at(with_energy(made, Absent("no RAPL here")), Price(0.5), 380.0)
    (table,) = costs.tables(priced, analyse(priced))
    assert table.notes == ("No emissions: no RAPL here.",)
    assert {line.cells[1] for line in table.lines} == {("–", "")}


def test_a_reason_of_one_arm_names_it() -> None:
    made = make_run(models=("mlp",), backends=("torch", "jax"), scenarios=("latency",), unequal=[("jax", "mlp")])
    priced = money.at(made, Price(0.5), None)
    (table,) = costs.tables(priced, analyse(priced))
    (note,) = table.notes
    assert note.startswith("No cost of jax: not equal to the reference")


def test_a_currency_from_a_record_is_data(run: Run) -> None:
    priced = money.at(run, Price(1.2, "[b]<i>\x1b"), None)
    assert "\x1b" not in printed(priced)
    assert "[b]<i>" in printed(priced)
    assert "[b]&lt;i&gt;" in html.render(priced, analyse(priced))


def test_a_training_is_named_with_its_target() -> None:
    made = make_run(models=("mlp",), backends=("torch", "jax"), scenarios=("convergence",))
    (table,) = costs.tables(money.at(made, Price(1.2, "$"), None), analyse(made))
    assert table.headings == ("$ a training",)
    assert "training to 97.0\N{NO-BREAK SPACE}%" in table.title
