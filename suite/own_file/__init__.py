"""A user's own ONNX file: what it says of itself, where a copy of it is kept, and what its answers are held against."""
