"""What can only be seen on a GPU: NVML beside nvidia-smi, arms that take turns on one GPU, and what faults leave there.

Run with the `host` launcher, in an interpreter that has torch (and JAX) for CUDA: `python -m studies.gpu PART`.
"""
