"""Searches by the pixels, for what has few features, or only such as repeat."""
