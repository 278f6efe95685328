"""What a shell completes: commands, options, and names of models, backends, versions and runs.

click asks for them through the environment, and prints the script that a shell needs:
`_LEVELFIELD_COMPLETE=bash_source levelfield`, and the same of zsh and fish.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

import click
from click.shell_completion import CompletionItem

from levelfield.options import COMPLETERS

_Choices: TypeAlias = Callable[[click.Context, str], Iterable[str]]
"""What may be typed, by the context of the command and what is typed of a name."""
_Completer: TypeAlias = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
"""What click asks."""


def _models(context: click.Context, typed: str) -> Iterable[str]:
    from levelfield.zoo import models as zoo

    del context, typed
    return zoo.names()


def _scenarios(context: click.Context, typed: str) -> Iterable[str]:
    from levelfield import scenarios as known

    del context, typed
    return known.NAMES


def _profiles(context: click.Context, typed: str) -> Iterable[str]:
    from levelfield.plan.profiles import PROFILES

    del context, typed
    return PROFILES


def _runs(context: click.Context, typed: str) -> Iterable[str]:
    """Return the ids of runs in the folder of reports, the newest first."""
    from levelfield.record import files, page

    del typed
    reports = Path(context.params.get("reports") or "reports")
    kept = (page.NAME, files.NAME, files.JOURNAL)
    found = {path.parent.name for name in kept for path in reports.glob(f"*/{name}")}
    return sorted(found, reverse=True)


def _images(context: click.Context, typed: str) -> Iterable[str]:
    from levelfield.images import catalogue

    del context, typed
    return catalogue.images()


def _arms(context: click.Context, typed: str) -> Iterator[str]:
    """Yield every backend; and its versions where one backend is typed to its end."""
    from levelfield.backends import registry
    from levelfield.images import catalogue

    del context
    backend, at, _ = typed.partition("@")
    for name in registry.all_names():
        if not at:
            yield name
        elif name == backend:
            yield from (f"{name}@{version}" for version in catalogue.versions(registry.get(name).image))


def _one(choices: _Choices) -> _Completer:
    """Return what completes one name."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        del param
        return [CompletionItem(choice) for choice in choices(ctx, incomplete) if choice.startswith(incomplete)]

    return complete


def _several(choices: _Choices) -> _Completer:
    """Return what completes the last name of a list; those that stand in it already are left out."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        del param
        before, comma, last = incomplete.rpartition(",")
        taken = before.split(",")
        left = (choice for choice in choices(ctx, last) if choice.startswith(last) and choice not in taken)
        return [CompletionItem(f"{before}{comma}{choice}") for choice in left]

    return complete


arm, runs, images = _one(_arms), _one(_runs), _one(_images)
"""For arguments that take one name each."""
COMPLETERS.update(
    models=_several(_models),
    backends=_several(_arms),
    scenarios=_several(_scenarios),
    profile=_one(_profiles),
    resume=runs,
)
