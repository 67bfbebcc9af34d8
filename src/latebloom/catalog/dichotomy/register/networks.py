"""Statements on figures and networks: Sections 1, 2 and 4, the experiments of Section 3.2.3, Appendix B."""

from latebloom.catalog.statements import Statement, stated

INTRODUCTION: tuple[Statement, ...] = (
    stated(
        "Section 1",
        "Grokking: zero training error and near-random test error first, then a sharp transition to perfect "
        "generalisation.",
        "fig2a/guesses-first",
        "fig2a/generalises",
        "fig2a/sudden",
    ),
    stated(
        "Section 1",
        "No prior work has proved grokking in a neural network or explained quantitatively why it is sharp.",
        because="a statement on the literature",
    ),
    stated(
        "Section 1",
        "Grokking happens if the early bias implies an overfitting solution and the late bias one that generalises.",
        "fig1a/kernel-phase-is-max-l2-margin",
        "fig1a/fails-to-generalise",
        "fig1a/end-is-max-l1-margin",
        "fig1a/generalises",
    ),
    stated(
        "Section 1",
        "Misgrokking: perfect training and test accuracy first, and later a sudden big drop of the test accuracy.",
        "fig1b/generalises-first",
        "fig1b/loses-it",
        "fig1b/drops-suddenly",
    ),
    stated(
        "Section 1",
        "Unlike in the usual kernel regime the norm of the weights changes much, by weight decay, while their "
        "direction stays.",
        "fig1a/weights-only-shrink",
        "fig2b/weights-only-shrink",
    ),
)

MODULAR_ADDITION: tuple[Statement, ...] = (
    stated(
        "Section 2",
        "Full-batch gradient descent on a two-layer ReLU net, p = 97, 40 % of the pairs, h = 1024, learning rate "
        "0.002, weight decay 1e-4 (here its flow, in few gradients and within its tolerances).",
        "fig2a/descent-follows-flow",
        "fig2a/tolerance-is-enough",
        "fig2a/few-gradients",
        partly="descent itself is followed until twice the time of memorisation, at the reduced size",
    ),
    stated("Figure 2a", "The training accuracy reaches 100 % in 10^6 steps.", "fig2a/memorises"),
    stated("Figure 2a", "By then the test accuracy remains close to random guessing.", "fig2a/guesses-first"),
    stated(
        "Figure 2a",
        "After one additional order of magnitude in the number of steps, the test accuracy jumps to 100 %.",
        "fig2a/one-order-later",
        "fig2a/a-factor-ten-is-too-few",
        "fig2a/generalises",
    ),
    stated("Figure 2a", "It jumps suddenly.", "fig2a/sudden"),
    stated("Figure 2a", "The training accuracy stays at 100 %.", "fig2a/keeps-what-it-memorised"),
    stated(
        "Section 2, Figure 2b",
        "With a second layer of zero, the sharp transition is delayed when the scale α of the start grows from 1 to "
        "100.",
        "fig2b/larger-scale-delays",
    ),
    stated(
        "Figure 2b",
        "For every scale the training pairs are fitted early, and the test accuracy ends near 100 %.",
        "fig2b/fits-at-once",
        "fig2b/all-generalise",
    ),
    stated(
        "Figure 2b, with Theorems 3.4 and 3.5",
        "The delay is (1/λ) log α, if the theorems are read for a ReLU net.",
        "fig2b/slope-one-from-one",
        "fig2b/slope-one",
    ),
    stated(
        "Section 2, Figure 2c",
        "Increasing weight decay makes the transition happen earlier; with less it takes more time.",
        "fig2c/less-weight-decay-is-later",
    ),
    stated(
        "Figure 2c, with Theorems 3.4 and 3.5",
        "The time is proportional to 1/λ, if the theorems are read for a ReLU net.",
        "fig2c/inverse-law",
        "fig2c/nearly-inverse",
    ),
    stated(
        "Section 2, Figure 2c",
        "When weight decay surpasses a small threshold, the training accuracy collapses eventually.",
        "fig2c/collapses",
        "fig2c/trains-below-the-threshold",
    ),
    stated(
        "Section 2",
        "Without weight decay there is perfect generalisation in the end, and the transition is no longer sharp.",
        "fig4/generalises",
        "fig4/not-sharp",
    ),
    stated(
        "Section 2",
        "Homogeneity makes it impossible to explain the effect of the norm by expressive power: what can be "
        "represented with one norm can be with every other.",
        "fig2a/norm-is-no-explanation",
    ),
    stated(
        "Figure 2a, with Theorem 3.5",
        "The late phase ends at a KKT point of max margin, if the theorem is read for a ReLU net.",
        "fig2a/gradient-along-weights",
        "fig2a/gradient-along-weights-on-average",
        "fig2a/held-by-the-loss",
    ),
)

DIAGONAL_NETS: tuple[Statement, ...] = (
    stated(
        "Section 3.1",
        "Gradient flow is the continuous counterpart of gradient descent.",
        "fig1a/descent-follows-flow",
        "fig2a/descent-follows-flow",
    ),
    stated(
        "Section 3.2",
        "There is a sharp transition around (1/λ) log α (at the start of Figure 1a).",
        "fig1a/sharp",
        "fig1a/transition-at-log-alpha",
        "fig1a/transition-before-log-alpha",
    ),
    stated(
        "Section 3.2.1",
        "The insight of the proof: θ ≈ α e^-λt θ_init until the transition, after which the flow escapes.",
        "fig1a/weights-only-shrink",
        "fig2b/weights-only-shrink",
    ),
    stated(
        "Section 3.2.3, Figure 1a",
        "n = 256, d = 1e5, k = 3, norm 128, λ = 0.001: in the early phase the net fits very quickly.",
        "fig1a/fits-at-once",
    ),
    stated("Section 3.2.3, Figure 1a", "In the early phase it fails to generalise.", "fig1a/fails-to-generalise"),
    stated(
        "Section 3.2.3, Figure 1a",
        "After a sharp transition in the late phase the test accuracy becomes 100 %.",
        "fig1a/generalises",
        "fig1a/sharp",
    ),
    stated(
        "Section 3.2.3, Figures 1a and 1b",
        "The early phase is at the max l2-margin classifier, the late one goes to the max l1-margin classifier.",
        "fig1a/kernel-phase-is-max-l2-margin",
        "fig1a/end-is-max-l1-margin",
        "fig1a/oracles-are-certified",
        "fig1b/kernel-phase-is-max-l2-margin",
        "fig1b/end-is-max-l1-margin",
        "fig1b/oracles-are-certified",
    ),
    stated(
        "Section 3.2.3, Figure 1b",
        "γ = 25, n = 32: the net first fits the training set and achieves 100 % test accuracy.",
        "fig1b/generalises-first",
    ),
    stated(
        "Section 3.2.3, Figure 1b",
        "After training for sufficiently longer, the test accuracy drops to nearly 50 %.",
        "fig1b/loses-it",
        "fig1b/needs-a-large-dimension",
    ),
    stated(
        "Section 3.2.3",
        "The ground truth may not have a large l1 margin, so that the late bias destroys the generalisation.",
        "fig1b/l1-margin-does-not-generalise",
    ),
)

CONCLUSION: tuple[Statement, ...] = (
    stated(
        "Section 4",
        "The late bias can also come from margin maximisation and from the reduction of sharpness, with a transition "
        "that may be less sharp.",
        "fig4/generalises",
        "fig4/not-sharp",
        "label-noise/generalises-at-1/η²",
        "label-noise/less-sharp-than-weight-decay",
        "sam/second-phase-generalises",
    ),
    stated(
        "Section 4",
        "Other sources of grokking and methods to eliminate it are left to future work.",
        because="an outlook",
    ),
)

MARGIN_MAXIMISATION: tuple[Statement, ...] = (
    stated(
        "Appendix B.1",
        "Gradient descent on homogeneous nets converges to KKT points of (R1) without weight decay, too.",
        "fig4/kkt-on-average",
        "fig4/kkt-not-at-a-point",
    ),
    stated("Appendix B.1", "After a sufficiently long time the bias to large margins arises.", "fig4/margin-grows"),
    stated(
        "Appendix B.1",
        "The learning rate η/L(θ) is so small that descent stays close to the gradient flow.",
        "fig4/margin-is-monotone",
        "fig4/margin-is-monotone-at-first",
        "fig4/margin-is-log-t-over-norm",
        "fig4/gradient-is-sound",
    ),
    stated(
        "Appendix B.1",
        "The Hessian of L is bounded by O(L(θ) poly(|θ|)).",
        because="a bound up to an unnamed polynomial, for nets that are not twice differentiable",
    ),
    stated(
        "Appendix B.1, Figure 4",
        "A very quick convergence in training accuracy occurs in the early phase, at a test accuracy of about 0 %.",
        "fig4/fits-early",
        "fig4/fails-when-it-fits",
    ),
    stated(
        "Appendix B.1, Figure 4b",
        "The test accuracy slowly transitions from about 0 % to 100 % as t increases from 10^(10^2) to 10^(10^4).",
        "fig4/rises-between-10^10^2-and-10^10^4",
        "fig4/half-in-between",
        partly="p = 17; the paper's size takes about a day and was not run",
    ),
    stated(
        "Figure 4",
        "It can take exponentially longer than the time needed for 100 % training accuracy; it is no longer sharp.",
        "fig4/exponentially-longer",
        "fig4/not-sharp",
    ),
    stated(
        "Appendix B.1",
        "With weight decay there is a sharp transition when the number of steps is about 10^7.",
        "fig2c/ten-million-steps",
        "fig2a/sudden",
    ),
    stated(
        "Appendix B.1",
        "Linear logistic regression converges to the max-margin solution as slowly as O(log log t / log t).",
        "linear-rate/rate-is-an-upper-bound",
        "linear-rate/rate-is-attained",
        "linear-rate/generic-points-are-a-little-quicker",
    ),
)

SHARPNESS: tuple[Statement, ...] = (
    stated(
        "Appendix B.2",
        "Label noise and 1-SAM reduce sharpness: a first phase finds a minimiser that generalises poorly, a second one "
        "generalises.",
        "sam/first-phase-overfits",
        "sam/second-phase-generalises",
        "sam/plain-steps-do-not",
        "label-noise/stays-before",
        "label-noise/acts-as-weight-decay",
    ),
    stated(
        "Appendix B.2",
        "The second phase is longer than the first by magnitude, and this causes grokking.",
        "sam/second-phase-is-longer",
        "sam/slow-like-the-square",
    ),
    stated(
        "Theorem B.1, 1",
        "Gradient flow from α(1, 1) has a limit with zero training loss and a population loss Ω(|w*|²).",
        "label-noise/flow-interpolates",
        "label-noise/flow-does-not-generalise",
    ),
    stated(
        "Theorem B.1, 2",
        "At step T/η^a, for every a between 1 and 2, label-noise SGD converges to that limit as η → 0.",
        "label-noise/stays-before",
        "label-noise/training-loss-vanishes",
    ),
    stated(
        "Theorem B.1, 3",
        "At step T/η² it converges to a point of zero training loss whose population loss tends to 0 as T → ∞.",
        "label-noise/generalises-at-1/η²",
        "label-noise/training-loss-vanishes",
        "label-noise/population-loss-vanishes",
    ),
    stated(
        "Appendix B.2",
        "The transition is sharp in log time: a slightly larger log t changes the bias.",
        "label-noise/sharp-in-log-time",
    ),
    stated(
        "Appendix B.2",
        "It is less sharp than with weight decay, where a slightly larger t itself changes the bias.",
        "label-noise/less-sharp-than-weight-decay",
    ),
)

STATEMENTS: tuple[Statement, ...] = (
    *(*INTRODUCTION, *MODULAR_ADDITION, *DIAGONAL_NETS, *CONCLUSION),
    *(*MARGIN_MAXIMISATION, *SHARPNESS),
)
