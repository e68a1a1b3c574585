"""Results as one HTML file that needs no network: of a pair; page.py serves collections too."""

from matching.output.html.pair import pair_report, write_pair_report

__all__ = ["pair_report", "write_pair_report"]
