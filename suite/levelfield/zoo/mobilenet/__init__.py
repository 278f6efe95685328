"""MobileNetV2, a network of depthwise convolutions."""
