"""What a run says beyond its rankings: resources, payback, saturation, headroom."""
