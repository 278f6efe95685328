"""Time of an item where each framework reads its batches from a dataset on disk, in its own way.

A dataset may be read one item at a time: the next one is read during the call, so that its rate is not 1 ÷ latency.
"""

from levelfield.scenarios.types import Scenario

SCENARIO = Scenario(
    name="data-pipeline",
    title="Data pipeline",
    phrase="throughput from a dataset",
    per_item=True,
    batched=True,
    from_dataset=True,
    not_of_a_file="there is no dataset for it",
)
