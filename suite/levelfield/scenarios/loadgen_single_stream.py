"""MLPerf LoadGen's SingleStream: the next query comes when the last one is answered; its 90th percentile counts."""

from levelfield.scenarios.types import Scenario

SCENARIO = Scenario(
    name="loadgen-single-stream",
    title="LoadGen SingleStream",
    phrase="LoadGen SingleStream (90th percentile of a query)",
    sample="LoadGen test",
    driven_as="SingleStream",
    loaded_as="latency",
    not_of_a_file="LoadGen is given the inputs of the built-in models alone",
)
