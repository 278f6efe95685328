"""Dense layers with ReLU between them: the published spam-classifier network, and a smaller one for the digits."""
