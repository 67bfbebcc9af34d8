"""Panels drawn on the axes of Matplotlib, for the entries that are not data yet."""
