"""Time of a call that computes a whole prompt and fills the cache: the time to the first token."""

from levelfield.scenarios.types import Scenario

SCENARIO = Scenario(
    name="prefill",
    title="Prefill",
    phrase="prefill (time to first token)",
    decodes="prefill",
    note="A call computes a prompt of so many tokens and keeps their keys and values: the time to the first token.",
    not_of_a_file="a file says nothing of a cache",
)
