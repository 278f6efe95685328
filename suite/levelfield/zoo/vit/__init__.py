"""ViT-B/16, a vision transformer for images of 224 × 224."""
