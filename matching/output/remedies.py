"""What to try about matches in no object, by the step that dropped them."""

OF_PICTURES = "places", "details"  # steps to which given matches do not come


def list_remedies(further: str, more: str) -> dict[str, str]:
    """List what to try; `further`: how to match more candidates, and `more`: that, or larger pictures."""
    return {
        **dict.fromkeys(("candidates", "graph", "degree", "size", "smooth map", "line", "planes"), more),
        **dict.fromkeys(("reach", "details", "solids"), "nothing to do"),
        "agreement": "as of elements that look alike, such as letters and windows",
        "largest gap": more,
        "stray": "check the coordinates",
        "rounds": further,
        "evidence": "usual if the pictures have nothing in common",
        "suppression": "try suppression__share=0.5 in Python",
        "significance": "to keep it anyway, raise --max-nfa, whose log10 is the bound",
        "scatter": "give the pictures, which can confirm it",
        "places": "mask one of them",
        "method": "try the default method",
    }


FURTHER = "try --max-matches 6000"
PAIR_HINTS = list_remedies(FURTHER, f"{FURTHER}, or a larger picture")
GROUP_HINTS = list_remedies("try max_matches=6000 in Python", "give more matches")
GROUP_HINTS = {step: hint for step, hint in GROUP_HINTS.items() if step not in OF_PICTURES}
GROUP_HINTS["agreement"] = "check that the points are x and y in pixels of these pictures"
FURTHER_ON_PAGE = "try 6000 in “Maximum candidates”"
PAGE_HINTS = list_remedies(FURTHER_ON_PAGE, f"{FURTHER_ON_PAGE}, or a larger picture")
PAGE_HINTS = {step: hint for step, hint in PAGE_HINTS.items() if "--" not in hint and "Python" not in hint}
