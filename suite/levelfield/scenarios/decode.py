"""Time of a call that computes one token after those in the cache: the inter-token latency at a depth."""

from levelfield.scenarios.types import Scenario

SCENARIO = Scenario(
    name="decode",
    title="Decode",
    phrase="decode (inter-token latency)",
    decodes="decode",
    note="A call computes one token that follows so many in the cache: the inter-token latency.",
    not_of_a_file="a file says nothing of a cache",
)
