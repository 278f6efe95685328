"""From a profile and a selection to an ordered list of blocks; every impossible request is refused with its reason.

`making` turns what was typed into a plan, with the help of the others: `names` (what can be asked for), `precision`,
`sizes` (batches and their limit), `serving` (what is measured in batches), `trainings` (what is trained), `processes`
(among how many a training is divided), `cases`, and `blocks` (the arms of each, the control among them). `pairs` plans
two arms against each other, and `recorded` reads a plan back from a record. None of them imports this file.
"""

from suite.plan.making import make
from suite.plan.names import CANARY, EXPORTER, all_images, names_of_backends, names_of_models
from suite.plan.pairs import pair
from suite.plan.recorded import of, with_launches
from suite.plan.types import Plan, Selection, answers

__all__ = [
    "CANARY",
    "EXPORTER",
    "Plan",
    "Selection",
    "all_images",
    "answers",
    "make",
    "names_of_backends",
    "names_of_models",
    "of",
    "pair",
    "with_launches",
]
