"""Names of the formats to which results can be exported, and of their files."""

FILES = {
    "colmap": ("database.db",),
    "hloc": ("features.h5", "matches.h5", "pairs.txt"),
    "csv": ("matches.csv",),
}
EXPORTS = tuple(FILES)
