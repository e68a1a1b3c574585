"""Names of the formats that results can be exported to."""

EXPORTS = ("colmap", "hloc", "csv")
