"""Local features of a picture: key points, regions, orientations, and descriptors."""
