"""ResNet-50 v1.5: the stride of a bottleneck is in its 3×3 convolution."""
