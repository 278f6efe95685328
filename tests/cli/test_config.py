"""`levelfield.toml`, as people write it."""

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from levelfield.cli import config
from levelfield.cli.main import cli
from levelfield.errors import LevelfieldError
from tests.commands import call, one_clear_sentence
from tests.records_builder import kept, make_run

MEASURING = {"bench", "ab", "explain", "reproduce", "upgrade begin", "fleet run"}
MEASURED = {
    *("profile", "models", "backends", "scenarios", "precision", "threads", "cpus", "processes", "depths", "kv-cache"),
    *("batch", "control", "budget", "until", "precision-target", "target", "loadgen", "variant", "gpu"),
}


def leaves(group: click.Group, *above: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name in group.list_commands(click.Context(group)):
        command = group.commands[name]
        yield from leaves(command, *above, name) if isinstance(command, click.Group) else [((*above, name), command)]


def test_a_file_sets_what_is_measured_and_no_other_option_of_any_command(tmp_path: Path) -> None:
    path = tmp_path / "levelfield.toml"
    seen = {"reports"}
    for words, command in leaves(cli):
        seen.add(" ".join(words))
        for name in config.options_of(command):
            path.write_text(f'[{".".join(words)}]\n{name} = "1"\n', encoding="utf-8")
            if name == "reports" or (name in MEASURED and " ".join(words) in MEASURING):
                seen.add(name)
                config.read(path, cli)
                continue
            with pytest.raises(LevelfieldError, match=f"may not set --{name} of {' '.join(words)}: ") as caught:
                config.read(path, cli)
            assert caught.value.exit_code == 2
            for table in () if name in MEASURED else ("", f"[{words[0]}]\n"):
                path.write_text(f"{table}{name} = 1\n", encoding="utf-8")
                with pytest.raises(LevelfieldError, match=f"may not set --{name}"):
                    config.read(path, cli)
    assert seen >= {"reports", *MEASURED, *MEASURING}


@pytest.mark.parametrize(
    ("words", "text", "says"),
    [
        (("verify", "page.html"), '[verify]\npage = "kept"\n', "may not set --page"),
        (("verify", "page.html"), 'signers = "theirs"\n', "may not set --signers"),
        (("export", "run"), '[export]\ncsv = "kept"\n', "may not set --csv"),
        (("bench",), '[bench]\nlauncher = "host"\n', "may not set --launcher"),
        (("ab", "jax", "torch"), 'base = "theirs"\nmargin = "99%"\n', "may not set --base"),
        (("upgrade", "verdict", "x"), '[upgrade]\naccept = "*"\n', "may not set --accept"),
        (("report", "run"), 'reports = "../elsewhere"\n', "is not below that folder"),
        (("report", "run"), 'reports = "link"\n', "is not below that folder"),
        (("report", "run"), 'reports = "a\\u0000b"\n', "is not below that folder"),
    ],
)
def test_a_strangers_file_stops_a_command_before_it_does_anything(
    tmp_path: Path, words: tuple[str, ...], text: str, says: str
) -> None:
    (tmp_path / "levelfield.toml").write_text(text, encoding="utf-8")
    (tmp_path / "kept").touch()
    (tmp_path / "link").symlink_to("/")
    one_clear_sentence(call(*words, folder=tmp_path), says)
    assert not (tmp_path / "kept").read_text()


def test_defaults_of_the_file_are_used_and_what_is_typed_wins(tmp_path: Path) -> None:
    (tmp_path / "levelfield.toml").write_text('reports = "results"\n', encoding="utf-8")
    kept(make_run(models=("mlp",), backends=("jax",), generations=1), tmp_path / "results" / "a-run")
    command = call("export", "a-run", folder=tmp_path, code=0)
    assert command.err == "Defaults from levelfield.toml.\n"
    one_clear_sentence(call("export", "a-run", "--reports", "there", folder=tmp_path), "There is no run called 'a-run'")


def test_values_have_the_types_that_options_have(tmp_path: Path) -> None:
    path = tmp_path / "any.toml"
    path.write_text(
        'threads = [1, 2]\nprecision-target = "1%"\n[bench]\nmodels = ["mlp", "bert"]\nbudget = "90s"\n'
        '[upgrade.next]\nreports = "there"\n',
        encoding="utf-8",
    )
    found = config.read(path, cli)
    bench = cli.commands["bench"].make_context("bench", [], default_map=found["bench"])
    assert (bench.params["models"], bench.params["threads"]) == (("mlp", "bert"), (1, 2))
    assert bench.params["precision_target"] == pytest.approx(0.01)
    assert bench.params["budget_seconds"] == 90
    ab = cli.commands["ab"].make_context("ab", ["jax", "torch"], default_map=found["ab"])
    assert ab.params["threads"] == (1, 2)
    assert found["upgrade"]["next"] == {"reports": "there"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[bensh]\n", ["There is no command called 'bensh'", "bench"]),
        ("[bench]\nmodel_ = 1\n", ["There is no option of bench called 'model_'", "model"]),
        ("modles = 1\n", ["There is no command's option called 'modles'", "models"]),
        ("[images.clean]\nyes = true\n", ["may not set --yes of images clean"]),
        ("[bench]\nmodels = true\n", ["--models cannot have the value True"]),
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
    command = call("bench", folder=tmp_path, code=2)
    assert command.err.startswith("Defaults from levelfield.toml.\n")
    assert "Invalid value for '--budget': 'soon' is not a duration" in command.err


def test_it_is_shown_where_every_value_comes_from(tmp_path: Path) -> None:
    (tmp_path / "levelfield.toml").write_text('[upgrade.next]\nreports = "there"\n', encoding="utf-8")
    command = call("config", "show", "upgrade", "next", folder=tmp_path, code=0)
    lines = {words[0]: words[1:] for line in command.out.splitlines() if (words := line.split())}
    assert lines["--reports"] == ["there", "levelfield.toml"]
    assert lines["--all"] == ["false", "default,", "typed", "only"]
    bench = call("config", "show", "bench", folder=tmp_path)
    shown = [line.split() for line in bench.out.splitlines()]
    assert ["--margin", "2%", "default,", "typed", "only"] in shown
    assert ["--budget", "not", "set", "default"] in shown
    one_clear_sentence(call("config", "show", "bensh", folder=tmp_path), "There is no command called 'bensh'", "bench")
    one_clear_sentence(call("config", "show", "fleet", folder=tmp_path), "has commands of its own")


def test_every_option_can_be_named_by_what_is_typed() -> None:
    """No option has a short name alone, or one that a file could not hold."""
    for command in cli.commands.values():
        if not isinstance(command, click.Group):
            assert all(name.replace("-", "").isalpha() for name in config.options_of(command))
