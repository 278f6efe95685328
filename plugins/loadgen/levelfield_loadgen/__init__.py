"""MLPerf LoadGen as what sends the queries: `prepare` is the entry point of its scenarios."""
