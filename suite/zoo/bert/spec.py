"""BERT-base (Devlin et al. 2018): twelve post-norm layers, hidden size 768, twelve heads, sequences of 128.

Names are those of the `transformers` library. There is no pooler: the output is the last hidden state.
"""

from suite.zoo.spec import Model, Parameter, Tensor

LAYERS = 12
HIDDEN = 768
HEADS = 12
HEAD = HIDDEN // HEADS
INNER = 4 * HIDDEN
SEQUENCE = 128
VOCABULARY = 30522
POSITIONS = 512
TYPES = 2
EPSILON = 1e-12
"""Of LayerNorm."""

_STD = 0.02
"""As published; twice as much collapses all tokens onto one direction."""


def _dense(name: str, fan_in: int, fan_out: int) -> list[Parameter]:
    return [Parameter(f"{name}.weight", (fan_out, fan_in), std=_STD), Parameter(f"{name}.bias", (fan_out,), std=_STD)]


def _norm(name: str) -> list[Parameter]:
    return [Parameter(f"{name}.weight", (HIDDEN,), mean=1.0, std=0.1), Parameter(f"{name}.bias", (HIDDEN,), std=0.1)]


def _parameters() -> tuple[Parameter, ...]:
    parameters = [
        Parameter("embeddings.word_embeddings.weight", (VOCABULARY, HIDDEN), std=_STD),
        Parameter("embeddings.position_embeddings.weight", (POSITIONS, HIDDEN), std=_STD),
        Parameter("embeddings.token_type_embeddings.weight", (TYPES, HIDDEN), std=_STD),
        *_norm("embeddings.LayerNorm"),
    ]
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}"
        for part in ("query", "key", "value"):
            parameters += _dense(f"{layer}.attention.self.{part}", HIDDEN, HIDDEN)
        parameters += _dense(f"{layer}.attention.output.dense", HIDDEN, HIDDEN)
        parameters += _norm(f"{layer}.attention.output.LayerNorm")
        parameters += _dense(f"{layer}.intermediate.dense", HIDDEN, INNER)
        parameters += _dense(f"{layer}.output.dense", INNER, HIDDEN)
        parameters += _norm(f"{layer}.output.LayerNorm")
    return tuple(parameters)


MODEL = Model(
    name="bert",
    title="BERT-base, sequence 128",
    inputs=(
        Tensor("input_ids", (SEQUENCE,), "int32"),
        Tensor("token_type_ids", (SEQUENCE,), "int32"),
        Tensor("attention_mask", (SEQUENCE,), "int32"),
    ),
    output=Tensor("last_hidden_state", (SEQUENCE, HIDDEN), "float32"),
    parameters=_parameters(),
    source="Devlin et al., arXiv:1810.04805; as in transformers' BertModel without the pooler",
)
