"""What MLPerf LoadGen itself costs for each query, inside the worker, beside bare calls of the same model."""
