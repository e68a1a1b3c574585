"""Description of the objects found: outline, transform, deformation, and warp."""
