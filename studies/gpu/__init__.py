"""What can only be seen on a GPU, by the launcher `host` in an interpreter that has torch for CUDA."""
