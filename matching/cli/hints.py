"""What to try about matches in no object, by the step that dropped them, in terms of the command line."""

FURTHER = "try --max-matches 6000"
MORE = f"{FURTHER}, or a larger picture"
PAIR_HINTS = {
    **dict.fromkeys(("candidates", "graph", "degree", "size", "smooth map", "line", "planes"), MORE),
    **dict.fromkeys(("reach", "agreement", "details", "solids"), "nothing to do"),
    "largest gap": MORE,
    "stray": "check the coordinates",
    "rounds": FURTHER,
    "evidence": "usual if the pictures have nothing in common",
    "suppression": "try suppression__share=0.5 in Python",
    "significance": "to keep it anyway, raise --max-nfa, whose log10 is the bound",
    "scatter": "give the pictures, which can confirm it",
    "places": "mask one of them; for mirrored ones, try --mirrored",
    "method": "try the default method",
}
# Given matches come to none of these steps.
OF_PICTURES = "places", "details"
GROUP_HINTS = {
    step: {MORE: "give more matches", FURTHER: "try max_matches=6000 in Python"}.get(hint, hint)
    for step, hint in PAIR_HINTS.items()
    if step not in OF_PICTURES
}
