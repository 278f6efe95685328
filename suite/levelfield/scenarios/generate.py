"""Tokens a second of a call that computes 128 tokens, one after the other, from given tokens (teacher-forced)."""

from levelfield.scenarios.types import Scenario
from levelfield.zoo.decoding import STEPS

SCENARIO = Scenario(
    name="generate",
    title="Generate",
    phrase="generate (time per output token)",
    per_item=True,
    items_per_input=STEPS,
    item="token",
    note=(
        f"A call computes {STEPS} tokens of each sequence, one after the other, from given tokens. The time per output "
        "token is batch ÷ tokens/s: (end − first) / (n − 1) of the n tokens that follow the prompt, the first of which "
        "the prompt's own call gives, untimed."
    ),
    decodes="generate",
    not_of_a_file="a file says nothing of a cache",
)
