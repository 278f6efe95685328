"""MLPerf LoadGen's MultiStream: SingleStream with eight samples a query; its 99th percentile counts."""

from levelfield.scenarios.types import Scenario

SCENARIO = Scenario(
    name="loadgen-multi-stream",
    title="LoadGen MultiStream",
    phrase="LoadGen MultiStream (99th percentile of a query of eight samples)",
    sample="LoadGen test",
    driven_as="MultiStream",
    batch=8,
    loaded_as="latency",
    not_of_a_file="LoadGen is given the inputs of the built-in models alone",
)
