"""The process inside the container: serves requests over stdin and stdout as JSON lines."""
