"""Synthetic data with exact truth: pictures, pairs of pictures, matches, and sets of points in the plane.

* `synth.photographs`: the pictures in composites, from folders or from installed packages.
* `synth.warp`: thin-plate-spline warps that are single-valued by construction.
* `synth.poses`: rotation, scale, light and occlusion of an object (the hard composites).
* `synth.composite`: pairs of tiled images with common objects, and the truth of every correspondence.
* `synth.tabletop`: things on a table that move and bend independently, and the truth of every pixel.
* `synth.rooms`: rooms of textured planes with boxes that may move, seen by any camera.
* `synth.surfaces`: matches on surfaces that move and bend, and outliers.
* `synth.pages`: single pictures that show things several times, and the box of each copy.
* `synth.textures`: fine textures that repeat or carry no information.
* `synth.toys`: point sets of clusters that differ in density, size and shape.

Coordinates are pixels, x to the right, y down, (0, 0) the centre of the top-left pixel.
"""
