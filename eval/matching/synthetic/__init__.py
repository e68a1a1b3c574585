"""Experiments on synthetic pairs with exact truth: sweep, tuning, report."""
