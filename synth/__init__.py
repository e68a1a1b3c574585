"""Synthetic data with exact truth: composite image pairs and two-dimensional toy sets.

* `synth.photographs`: the pictures in composites, from folders or from installed packages.
* `synth.warp`: thin-plate-spline warps that are single-valued by construction.
* `synth.poses`: rotation, scale, light and occlusion of an object (the hard composites).
* `synth.composite`: pairs of tiled images with common objects, and the truth of every correspondence.
* `synth.tabletop`: things on a table that move and bend independently, and the truth of every pixel.
* `synth.toys`: point sets of clusters that differ in density, size and shape.

Coordinates are pixels, x to the right, y down, (0, 0) the centre of the top-left pixel.
"""
