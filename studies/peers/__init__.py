"""Levelfield beside other tools: optimum-benchmark, `benchmark_app`, `torch.utils.benchmark` and pyperf."""
