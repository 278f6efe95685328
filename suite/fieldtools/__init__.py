"""Output of the field's own tools: `dcgmi diag`, `nvidia-smi`, `nvbandwidth` and nccl-tests, read and not rebuilt."""
