"""What the mean of gradients costs in JAX on a CPU: an all-reduce for each tensor, and one of all tensors together."""
