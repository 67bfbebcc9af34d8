"""The slow flow, the limit λ → 0 of gradient flow, and the limit map from which it starts."""
