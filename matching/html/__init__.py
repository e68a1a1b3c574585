"""Results as one HTML file that needs no network: of a pair, of a collection."""

from matching.html.collection import write_collection_report
from matching.html.pair import pair_report, write_pair_report

__all__ = ["pair_report", "write_collection_report", "write_pair_report"]
