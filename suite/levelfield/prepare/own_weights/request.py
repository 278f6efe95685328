"""From the folders that a user names to what is measured."""

from collections.abc import Sequence
from pathlib import Path

from levelfield.errors import LevelfieldError
from levelfield.prepare.own_weights import store
from levelfield.record.schema import OwnWeights
from levelfield.zoo import own_weights


def read(
    paths: Sequence[Path], names: Sequence[str], *, headed: bool = False
) -> tuple[tuple[OwnWeights, ...], tuple[str, ...]]:
    """Keep the weights of folders, and return them with the models that are measured.

    `names`: models that the user named: those of the folders' families take these weights. None: only the folders'
    networks are measured. Raises LevelfieldError: a folder cannot be measured, is named twice, or is of a family that
    the user did not name.
    """
    taking = {"bert": "berthead"} if headed else {}
    wanted = [taking.get(name, name) for name in names] or list(taking.values())
    kept = tuple(each for path in paths for each in store.keep(path, wanted))
    found = tuple(dict.fromkeys(each.model for each in kept))
    if len(found) < len(kept):
        raise LevelfieldError("--model names the same content twice.", fix="Once is enough.")
    if not names:
        return kept, found
    families = {each: own_weights.family_of(each) for each in found}
    left = next((each for each, family in families.items() if family not in wanted), None)
    if left is not None:
        raise LevelfieldError(
            f"--model has those of {families[left]}, and --models names {', '.join(names)}.",
            fix=f"Add {families[left]} to --models, or leave --models out.",
        )
    models: list[str] = []
    for name in names:
        models += [each for each, family in families.items() if family == taking.get(name, name)] or [name]
    return kept, tuple(models)


def keep_recorded(paths: Sequence[Path], recorded: Sequence[OwnWeights]) -> None:
    """Keep the weights that a record names, so that they are found by their digest.

    Raises LevelfieldError: a folder is another one, or the record names none.
    """
    if paths and not recorded:
        raise LevelfieldError("The report has no weights of its author's own.", fix="Leave --model out.")
    known = {each.sha256 for each in recorded}
    families = {own_weights.family_of(each.model) for each in recorded}
    for path in paths:
        found = store.keep(path, families)[0]
        if found.sha256 not in known:
            raise LevelfieldError(
                f"{path.name} is not the folder that was measured: its SHA-256 is {found.sha256[:16]}…, and the "
                f"report's {' and '.join(each[:16] + '…' for each in sorted(known))}.",
                fix="Ask its author for the folder.",
            )
