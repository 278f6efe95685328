"""Commands in the pages: which there are, and whether the tool understands them."""

import contextlib
import re
import shlex
import tempfile
from pathlib import Path

import click

from levelfield.cli.main import cli


def commands(text: str) -> list[str]:
    """Return the commands of a page's code blocks: indented by four, or between fences.

    Parameters
    ----------
    text : str
        The page, in Markdown.

    Returns
    -------
    list of str
        Every line that begins with `levelfield`, `nox` or `make`, without a comment behind it.
    """
    found: list[str] = []
    fenced = False
    for line in text.splitlines():
        if line.startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            command = re.split(r"\s#\s", line.strip())[0].strip()
            if re.match(r"(levelfield|nox|make)\b", command):
                found.append(command)
    return found


def understand(text: str) -> None:
    """Parse a `levelfield` command as the tool does, with the files there that it names.

    Parameters
    ----------
    text : str
        The command, as it is typed.

    Raises
    ------
    click.ClickException
        There is no such command or option, or a value is not of its type.
    """
    words = [word.replace("~/.ssh/", "") for word in shlex.split(text)[1:]]
    words = words[: next((place for place, word in enumerate(words) if word in {"|", ">"}), None)]
    group: click.Command = cli
    context = click.Context(cli)
    while isinstance(group, click.Group):
        _, command, words = group.resolve_command(context, words)
        assert command is not None, "it has raised NoSuchCommand"
        group = command
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("id_ed25519").write_text("a key", encoding="utf-8")
        group.make_context(group.name, words, parent=context)
