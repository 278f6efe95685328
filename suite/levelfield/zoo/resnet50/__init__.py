"""Networks of bottlenecks whose stride is in their 3×3 convolution: ResNet-50 v1.5, and a small one for the digits."""
