"""Whether one run came out as another did."""
