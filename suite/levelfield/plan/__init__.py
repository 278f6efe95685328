"""From a profile and a selection to an ordered list of blocks (`making`); what cannot be is refused with its reason."""

from levelfield.plan.arms import found_here
from levelfield.plan.making import make, of_record, pair, several, with_launches, with_timed_launches
from levelfield.plan.names import CANARY, EXPORTER, all_images, default_models, names_of_backends, names_of_models
from levelfield.plan.types import Plan, Selection, answers

__all__ = [
    "CANARY", "EXPORTER", "Plan", "Selection", "all_images", "answers", "default_models", "found_here", "make",
    "names_of_backends", "names_of_models", "of_record", "pair", "several", "with_launches", "with_timed_launches",
]  # fmt: skip
