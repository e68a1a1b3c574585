"""What lies between the matches of an object: one dense map of agreement, and what it tells.

`look` holds the door, `look_between`. `grid` takes both pictures to one grid, and `registration` aligns them.
`windows` correlates them in place and around, and `existence` tells whether there is an object at all; for
two places of one picture, `resemblance` does. `likelihood` weighs how likely each window shows another print,
`light` measures what glare and shadows explain, `differences` finds where the object differs, and `extent`
where it ends.
"""
