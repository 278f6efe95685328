"""ONNX's own backend tests, sent through the reader of users' files: what is measured, what is refused, and why."""
