"""What lies between the matches of an object: one dense map of agreement, and what it tells.

`look` holds the door, `look_between`. `grid` takes both pictures to one grid, and `registration` aligns them.
`windows` correlates them in place and around, and `existence` tells whether there is an object at all; for
two places of one picture, `resemblance` does. `likelihood` weighs how likely each window shows another print,
and `extent` finds where the object ends, `completeness` how much of picture 0 it shows. At the pixels,
`closeup` registers both pictures, `residual` and `glare` measure what light does not explain, `places` finds
where the object differs, `told` what would have been found, and `comparison` says so. `overlay` compares
copies, and `rivalry` alike pictures.
"""
