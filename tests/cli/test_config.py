"""`levelfield.toml`, as people write it."""

from pathlib import Path

import click
import pytest

from levelfield.cli import config
from levelfield.cli.main import cli
from levelfield.errors import LevelfieldError
from levelfield.record import files
from tests.commands import call, one_clear_sentence
from tests.records_builder import make_run


def test_defaults_of_the_file_are_used_and_what_is_typed_wins(tmp_path: Path) -> None:
    (tmp_path / "levelfield.toml").write_text('reports = "results"\n[export]\ntable = "launches"\n', encoding="utf-8")
    (tmp_path / "results" / "a-run").mkdir(parents=True)
    files.write(make_run(models=("mlp",), backends=("jax",), generations=1), tmp_path / "results" / "a-run")
    command = call("export", "a-run", folder=tmp_path)
    assert command.code == 0, command.err
    assert "start_ns" in command.out.splitlines()[0]
    assert command.err == "Defaults from levelfield.toml.\n"
    typed = call("export", "a-run", "--table", "windows", folder=tmp_path)
    assert "median_ns" in typed.out.splitlines()[0]


def test_values_have_the_types_that_options_have(tmp_path: Path) -> None:
    path = tmp_path / "any.toml"
    path.write_text(
        'threads = [1, 2]\nmargin = "1%"\n[bench]\nmodels = ["mlp", "bert"]\nseed = 3\nstrict = true\n'
        '[upgrade.next]\nreports = "there"\n',
        encoding="utf-8",
    )
    found = config.read(path, cli)
    bench = cli.commands["bench"].make_context("bench", [], default_map=found["bench"])
    assert bench.params["models"] == ("mlp", "bert")
    assert bench.params["threads"] == (1, 2)
    assert bench.params["margin"] == pytest.approx(0.01)
    assert (bench.params["seed"], bench.params["strict"]) == (3, True)
    ab = cli.commands["ab"].make_context("ab", ["jax", "torch"], default_map=found["ab"])
    assert ab.params["threads"] == (1, 2)
    assert found["upgrade"]["next"] == {"reports": "there"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[bensh]\n", ["There is no command called 'bensh'", "bench"]),
        ("[bench]\nmodel_ = 1\n", ["There is no option of bench called 'model_'", "model"]),
        ("modles = 1\n", ["There is no command's option called 'modles'", "models"]),
        ("[images.clean]\nyes = true\n", ["There is no option of clean called 'yes'"]),
        ("[bench]\nstrict = 1\n", ["--strict cannot have the value 1"]),
        ("[bench]\nmodels = { a = 1 }\n", ["--models cannot have the value {'a': 1}"]),
        ('[bench]\nbudget = ""\n', ["--budget cannot have the value ''"]),
        ("bench = 1\n", ["There is no command's option called 'bench'"]),
        ("models = [\n", ["is no TOML"]),
        ("x = " + "[" * 20_000, ["is no TOML"]),
    ],
)
def test_a_mistake_in_the_file_is_one_sentence(tmp_path: Path, text: str, says: list[str]) -> None:
    path = tmp_path / "levelfield.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(LevelfieldError) as caught:
        config.read(path, cli)
    for each in says:
        assert each in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_value_that_the_option_refuses_is_refused_as_if_typed(tmp_path: Path) -> None:
    (tmp_path / "levelfield.toml").write_text('[bench]\nbudget = "soon"\n', encoding="utf-8")
    command = call("bench", folder=tmp_path)
    assert command.code == 2
    assert command.err.startswith("Defaults from levelfield.toml.\n")
    assert "Invalid value for '--budget': 'soon' is not a duration" in command.err


def test_it_is_shown_where_every_value_comes_from(tmp_path: Path) -> None:
    (tmp_path / "levelfield.toml").write_text('[upgrade.next]\nreports = "there"\n', encoding="utf-8")
    command = call("config", "show", "upgrade", "next", folder=tmp_path)
    assert command.code == 0, command.err
    lines = {words[0]: words[1:] for line in command.out.splitlines() if (words := line.split())}
    assert lines["--reports"] == ["there", "levelfield.toml"]
    assert all(words[-1] in {"default", "levelfield.toml"} for name, words in lines.items() if name.startswith("--"))
    bench = call("config", "show", "bench", folder=tmp_path)
    shown = [line.split() for line in bench.out.splitlines()]
    assert ["--margin", "2%", "default"] in shown
    assert ["--budget", "not", "set", "default"] in shown
    one_clear_sentence(call("config", "show", "bensh", folder=tmp_path), "There is no command called 'bensh'", "bench")
    one_clear_sentence(call("config", "show", "fleet", folder=tmp_path), "has commands of its own")


def test_every_option_can_be_named_by_what_is_typed() -> None:
    """No option has a short name alone, or one that a file could not hold."""
    for command in cli.commands.values():
        if not isinstance(command, click.Group):
            assert all(name.replace("-", "").isalpha() for name in config.options_of(command))
