"""MLPerf LoadGen's Server: queries come at random times; the highest rate that holds the latency target counts."""

from levelfield.scenarios.types import Scenario

SCENARIO = Scenario(
    name="loadgen-server",
    title="LoadGen Server",
    phrase="LoadGen Server (time per query at the highest rate that holds the latency target)",
    sample="LoadGen test",
    per_item=True,
    item="query",
    driven_as="Server",
    loaded_as="latency",
    not_of_a_file="LoadGen is given the inputs of the built-in models alone",
)
