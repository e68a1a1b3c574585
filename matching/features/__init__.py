"""Local features of a picture: key points, regions, orientations, descriptors."""
