"""Weights of a user's own, read from a folder as the transformers library writes them."""
