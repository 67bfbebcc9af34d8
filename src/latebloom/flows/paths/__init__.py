"""Slow flows that need no integrator: exact paths from event to event."""
