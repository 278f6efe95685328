"""Two arms side by side in one run: nothing but what stands between them differs."""
