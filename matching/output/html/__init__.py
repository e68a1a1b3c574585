"""The result of a pair as one HTML file that needs no network; collections also use page.py."""
