"""Single operators: matrix products, convolutions, attention, normalisations, softmax, lookups, gather and scatter."""
