"""A model that a user's own ONNX file defines."""
