"""Rules of other tools, from their published descriptions, each with the schedule it is published with.

Every rule is given what it would have met on this machine: a tool that measures A to the end and then B gets A's
windows from earlier generations and B's from the ones right after them, so its two sides are never further apart than
they have to be.
"""

from suite.trials.rigor.rivals import asv, blocks, pyperf, thresholds
from suite.trials.rigor.table import Rule

RULES: tuple[Rule, ...] = (pyperf.RULE, asv.RULE, thresholds.TORCHBENCH, thresholds.MEAN, blocks.RULE)
