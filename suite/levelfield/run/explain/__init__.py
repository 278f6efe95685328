"""The profile of a result by the framework's own profiler, in the same columns for all."""
