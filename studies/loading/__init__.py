"""How long weights of a user's own take to load, beside `from_pretrained` of the transformers library."""
