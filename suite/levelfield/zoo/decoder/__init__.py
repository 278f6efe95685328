"""A decoder of eight of Llama's layers."""
