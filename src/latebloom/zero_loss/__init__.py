"""The set of parameters at which a least-squares problem has zero loss, and the equations of projecting on it."""
