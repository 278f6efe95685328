"""The decoder as the transformers library has it: `LlamaForCausalLM`."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from levelfield.zoo.decoder import BASE, Sizes
from levelfield.zoo.spec import Model
from levelfield.zoo.transformers_module import Answering, filled
from levelfield.zoo.weights import Arrays


def build(model: Model, weights: Arrays) -> torch.nn.Module:
    """Return the network with these weights; the library chooses how attention is computed."""
    sizes = model.sizes if isinstance(model.sizes, Sizes) else BASE
    rotary: dict[str, object] = {"rope_type": "default", "rope_theta": sizes.theta}
    if sizes.stretch != 1:
        rotary |= {
            "rope_type": "llama3",
            "factor": sizes.stretch,
            "low_freq_factor": sizes.stretch_low,
            "high_freq_factor": sizes.stretch_high,
            "original_max_position_embeddings": sizes.stretch_context,
        }
    config = LlamaConfig(
        vocab_size=sizes.vocabulary,
        hidden_size=sizes.hidden,
        intermediate_size=sizes.inner,
        num_hidden_layers=sizes.layers,
        num_attention_heads=sizes.heads,
        num_key_value_heads=sizes.key_heads,
        head_dim=sizes.head,
        max_position_embeddings=sizes.context,
        rms_norm_eps=sizes.epsilon,
        rope_parameters=rotary,
        tie_word_embeddings=False,
    )
    network = filled(LlamaForCausalLM, config, weights, {})
    fixed = {"use_cache": False, "logits_to_keep": 1}
    return Answering(network, ("input_ids",), lambda found: found.logits[:, -1], fixed)
