"""The result of a pair as one HTML file that needs no network; collections also use page.py."""

from matching.output.html.pair import pair_report, write_pair_report

__all__ = ["pair_report", "write_pair_report"]
