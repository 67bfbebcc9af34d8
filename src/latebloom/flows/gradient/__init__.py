"""Gradient flow: its job, its stabilised solver, its compiled steps."""
