"""MLPerf LoadGen's Offline: all samples come at once, in one query; samples per second count."""

from levelfield.scenarios.types import Scenario

SCENARIO = Scenario(
    name="loadgen-offline",
    title="LoadGen Offline",
    phrase="LoadGen Offline (time per sample)",
    sample="LoadGen test",
    per_item=True,
    batched=True,
    item="sample",
    driven_as="Offline",
    loaded_as="latency",
    not_of_a_file="LoadGen is given the inputs of the built-in models alone",
)
