"""What every layer of a model puts out, each framework in its own way."""
