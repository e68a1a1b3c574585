"""Description of the objects found: outline, transform, deformation, warp."""
