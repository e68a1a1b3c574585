"""What the folders of the package share: OpenCV, array types, threads, and operations on arrays."""
