"""Single operators: matrix products, convolutions, attention, normalisations, softmax and lookups."""
