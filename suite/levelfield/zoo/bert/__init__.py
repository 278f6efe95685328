"""BERT-base: twelve post-norm encoder layers."""
