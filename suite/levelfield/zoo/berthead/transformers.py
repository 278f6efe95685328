"""BERT with a head as the transformers library has it."""

from typing import Any

import torch
from transformers import BertForQuestionAnswering, BertForSequenceClassification

from levelfield.zoo.bert import transformers as bert
from levelfield.zoo.berthead import ANSWERS, BASE, CLASSIFIER, SIDES, Sizes
from levelfield.zoo.spec import Model
from levelfield.zoo.transformers_module import Answering, filled
from levelfield.zoo.weights import Arrays


def build(model: Model, weights: Arrays) -> torch.nn.Module:
    """Return the network with these weights; the library chooses how attention is computed."""
    sizes = model.sizes if isinstance(model.sizes, Sizes) else BASE
    config = bert.configuration(sizes, labels=sizes.classes or SIDES)
    heads = (f"{ANSWERS}.", f"{CLASSIFIER}.")
    theirs = {name if name.startswith(heads) else f"bert.{name}": array for name, array in weights.items()}
    kind = BertForSequenceClassification if sizes.classes else BertForQuestionAnswering
    network = filled(kind, config, theirs, {})
    return Answering(network, tuple(tensor.name for tensor in model.inputs), _answer, {})


def _answer(output: Any) -> torch.Tensor:  # noqa: ANN401  (an output of the library's own type)
    """Return logits, or where an answer begins and ends side by side."""
    if "logits" in output:
        return output.logits
    return torch.stack([output.start_logits, output.end_logits], dim=-1)
