"""The models in ncnn's format.

Each module has `write(graph, model, w)`: it adds the layers, with inputs named as in the specification, and returns the
name of the output. ncnn has no dimension for a batch: rows of a matrix are one for dense layers alone.
"""

NAMES = ("mlp", "resnet50", "mobilenet", "bert")
"""Models that have a definition here, by their packages."""
