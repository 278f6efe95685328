"""A text embedder: BERT-base, the mean over its tokens, and that at unit length."""
