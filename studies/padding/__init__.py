"""What random padding of the environment does to the variance between launches."""
