"""Finding a thing in a video: where and when it is seen."""
