"""A small ResNet for the digits, of the same bottlenecks as ResNet-50."""
