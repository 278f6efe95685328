"""A user's own ONNX file: what it declares, where a copy of it is kept, and the reference of its outputs."""
