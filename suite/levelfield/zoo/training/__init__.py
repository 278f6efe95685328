"""What a training step is: recipes, batches with labels, losses, and the float64 trajectory that all must follow."""
