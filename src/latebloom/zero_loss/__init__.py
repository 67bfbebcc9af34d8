"""The set of parameters at which a least-squares problem has zero loss, and the equations of projecting on it."""

from latebloom.zero_loss.set import distance_to_zero_loss, kkt_residual, retraction, tangent_cosine, tangent_projection

__all__ = ["distance_to_zero_loss", "kkt_residual", "retraction", "tangent_cosine", "tangent_projection"]
