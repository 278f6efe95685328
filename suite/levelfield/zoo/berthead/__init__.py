"""BERT with the heads that answer data sets: where an answer begins and ends, or which class a text is of."""
