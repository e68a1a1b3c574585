"""What to try about matches in no object, by the step that dropped them, in terms of the command line."""

FURTHER = "try --max-matches 6000"
MORE = f"{FURTHER}, or a larger picture"
PAIR_HINTS = {
    "candidates": MORE,
    "stray": "check the coordinates",
    "rounds": FURTHER,
    "reach": "nothing to do",
    "evidence": "usual if the pictures have nothing in common",
    "graph": MORE,
    "degree": MORE,
    "size": MORE,
    "smooth map": MORE,
    "line": MORE,
    "suppression": "try suppression__share=0.5 in Python",
    "largest gap": MORE,
    "significance": "to keep it anyway, raise --max-nfa, whose log10 is the bound",
    "scatter": "give the pictures, which can confirm it",
    "solids": "nothing to do",
    "planes": MORE,
    "textures": "try masking the texture with --mask0 and --mask1",
    "mirrored": "try --mirrored",
    "negative": "crop both pictures to it",
    "agreement": "nothing to do",
    "places": "mask one of them; for mirrored ones, try --mirrored",
    "method": "try the default method",
    "details": "nothing to do",
}
# Given matches come to none of these steps.
OF_PICTURES = "textures", "mirrored", "negative", "places", "details"
GROUP_HINTS = {
    step: {MORE: "give more matches", FURTHER: "try max_matches=6000 in Python"}.get(hint, hint)
    for step, hint in PAIR_HINTS.items()
    if step not in OF_PICTURES
}
