"""Autoregressive decoding: for each framework, a KV cache and the function that reads and extends it."""
