"""A model of your own: two factors whose product is fitted, balanced late by weight decay.

w0·w1 = 1 is memorised at once; weight decay then slides along the hyperbola to w0 = w1 = 1.
"""

import jax.numpy as jnp

import latebloom as lb


def residuals(w):
    return jnp.array([w[0] * w[1] - 1.0])


def imbalance(w):
    return jnp.abs(w[0] - w[1])


problem = lb.problems.LeastSquares(residuals, jnp.array([4.0, 0.1]), test=imbalance)
run = lb.train(problem, lb.GradientDescent(0.02), lb.L2(1e-3), steps=500_000, memorised_at=1e-2, generalised_at=1e-2)
print(run.outcome)
print(run.milestones)
