"""Names of the formats that results can be exported to, and of their files."""

FILES = {
    "colmap": ("database.db",),
    "hloc": ("features.h5", "matches.h5", "pairs.txt"),
    "csv": ("matches.csv",),
}
EXPORTS = tuple(FILES)
