"""Grids of runs as values and files: expanded, checked, cut into shards, run somewhere, kept in a store."""
