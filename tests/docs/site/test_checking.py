"""Commands of pages are found and parsed as the tool parses them."""

import click
import pytest

from docs.site import checking


def test_commands_are_found_in_both_kinds_of_blocks_and_without_what_is_said_beside_them() -> None:
    text = "levelfield in prose\n\n    levelfield list   # all\n    python x\n\n```\nmake test\n```\n    nox -l\n"
    assert checking.commands(text) == ["levelfield list", "make test", "nox -l"]


def test_what_the_tool_understands_passes_with_what_a_shell_does_to_its_output() -> None:
    checking.understand("levelfield bench --profile smoke --models mlp")
    checking.understand("levelfield list --json | jq .models")
    checking.understand("levelfield report RUN --sign ~/.ssh/id_ed25519")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("levelfield bake", "No such command"),
        ("levelfield bench --profil smoke", "No such option"),
        ("levelfield bench --seed many", "not a valid integer"),
    ],
)
def test_what_it_does_not_understand_is_refused(text: str, says: str) -> None:
    with pytest.raises(click.ClickException) as caught:
        checking.understand(text)
    assert says in caught.value.format_message()
