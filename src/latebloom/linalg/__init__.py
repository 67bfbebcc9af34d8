"""Matrices and vectors, and nothing that knows what they stand for: no problem, no penalty, no run."""
