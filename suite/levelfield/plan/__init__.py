"""From a profile and a selection to an ordered list of blocks; every impossible request is refused with its reason.

`making` turns what was typed into a plan, with the help of the others: `names` (what can be asked for), `precision`,
`placement` (CPU or GPU), `interpreters` (which Python), `processes` (among how many a training is divided), `batches`
(of each scenario and model), and `blocks` (the cases, and the arms of each). None of them imports this file.
"""

from levelfield.plan.arms import found_here
from levelfield.plan.making import make, of_record, pair, several, with_launches, with_timed_launches
from levelfield.plan.names import CANARY, EXPORTER, all_images, default_models, names_of_backends, names_of_models
from levelfield.plan.types import Plan, Selection, answers

__all__ = [
    "CANARY",
    "EXPORTER",
    "Plan",
    "Selection",
    "all_images",
    "answers",
    "default_models",
    "found_here",
    "make",
    "names_of_backends",
    "names_of_models",
    "of_record",
    "pair",
    "several",
    "with_launches",
    "with_timed_launches",
]
