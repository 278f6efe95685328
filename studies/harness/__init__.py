"""What Levelfield adds to a measurement: its worker against a bare loop, and against OpenVINO's own `benchmark_app`."""
