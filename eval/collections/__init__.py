"""Many pictures: kept indexes, shortlists, groups of copies, and what a collection costs."""
