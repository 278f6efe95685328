"""`levelfield explain`: what a framework's own profiler says of a result, in the same columns for all."""
