"""Statements on matrices: completion, sensing, leverage, deep factorisation."""

from latebloom.catalog.statements import stated

DEFINITION = "a definition"
CONSTANTS = "universal constants that nobody prints"

SECTION_3_2 = (
    stated(
        "Section 3.2",
        "Minimising the rank under linear measurements is NP-hard; the nuclear norm is its tightest convex relaxation.",
        because="facts of complexity and of convex analysis that are cited",
    ),
    stated(
        "Section 3.2",
        "Low-rank recovery is compressed sensing in the basis V* ⊗ U*, whose columns are orthonormal.",
        because="an identity of linear algebra",
    ),
    stated(
        "Section 3.2",
        "The iteration first moves near the least-squares solution, then converges to the least nuclear norm.",
        "thm3.4/bound-in-row-space",
        "fig5/penalty-is-needed",
        "fig5/ends-at-oracle",
        "fig5/recovers-if-the-oracle-does",
    ),
    stated(
        "Theorem 3.4",
        "Learning rate, strength and noise are small enough.",
        "thm3.4/conditions",
        "thm3.5/conditions",
    ),
    stated(
        "Theorem 3.4",
        "From t1 on the distance to the least-squares solution is at most 2αβ√n/(1-ρ₂).",
        "thm3.4/bound-as-printed",
        "thm3.4/bound-in-row-space",
    ),
    stated(
        "Theorem 3.4",
        "The nuclear gap has fallen to η/2 if t2 ≥ t1 + Δt(η).",
        "thm3.4/delay-is-enough",
    ),
    stated("Theorem 3.4", "… and only if.", "thm3.4/only-if-as-printed", "fig5/predicted-t2"),
    stated(
        "Section 3.2",
        "For suitable measurements interpolation and the nuclear norm of A* mean A = A*.",
        "thm3.5/recovers",
        "thm3.4/relative-constant",
    ),
    stated(
        "Theorem 3.5",
        "Hypothesis: the measurements have the robust rank null-space property of order r.",
        "thm3.5/null-space-property",
        "thm3.4/null-space-as-printed",
        "thm3.4/relative-constant",
    ),
    stated(
        "Theorem 3.5",
        "The nuclear distance to A* is at most C1 η + C2 αβ + C3 |ξ| by t1 + Δt(η).",
        "thm3.5/constant-as-printed",
        "thm3.5/error-bound",
        "thm3.5/error-follows-noise",
        "thm3.5/bias-remains",
        "thm3.5/entries-suffice",
    ),
    stated("Theorem 3.5", "… and only then.", "thm3.5/only-if-as-printed"),
    stated(
        "Section 3.2",
        "After memorisation the singular vectors turn by O(αβ/(γ-1)) a step, γ = σ_min(A(t1))/σ_max(A*) > 1.",
        "thm3.4/gap-as-printed",
    ),
    stated(
        "Section 3.2", "With l1 alone a matrix does not grok.", "fig5/l1-does-not-grok", "sparse-matrix/dense-does-not"
    ),
    stated(
        "Section 3.2",
        "… unless it is extremely sparse, so that sparsity prevails over rank.",
        "sparse-matrix/extremely-sparse-groks",
        "sparse-matrix/sparsity-prevails",
        "sparse-matrix/all-memorise",
    ),
    stated(
        "Section 3.2 (Generalization)",
        "Every singular value of A - A* decreases by αβ a step.",
        "fig5/decay-rate-as-printed",
        "fig5/predicted-t2",
    ),
    stated(
        "Section 3.2 (Generalization)",
        "The small singular values vanish one after the other, until |A|_* is |A*|_*.",
        "fig5/staged-decay",
        "fig5/nuclear-norm-converges",
    ),
    stated(
        "Section 3.2 (Generalization)",
        "This takes of the order of 1/(αβ) steps.",
        "fig6/inverse-law",
        "fig5/predicted-t2",
    ),
    stated(
        "Section 3.2 (Validation Experiments)",
        "At (10, 10, 2, 70, 0.1, 1e-4) the training error first falls to 1e-4.",
        "fig5/training-error",
        "fig5/memorises-first",
    ),
    stated(
        "Section 3.2 (Validation Experiments)",
        "… then, after a long training, the recovery error falls and matches it.",
        "fig5/generalises-late",
        "fig5/grokking",
        "fig5/matches-training-error",
        "fig5/recovers",
        "fig5/random-draw-is-recovered",
    ),
    stated(
        "Figure 5",
        "G dominates until memorisation, βH from there on.",
        "fig5/ratio-flips",
    ),
    stated(
        "Figure 5",
        "βH makes |A|_* converge to |A*|_*, so that A(t2) = A*.",
        "fig5/nuclear-norm-converges",
        "fig5/norm-of-the-oracle",
        "fig5/recovers",
    ),
    stated(
        "Title, Abstract, Section 1",
        "The model generalises while its l2 norm grows: of a matrix under the nuclear norm.",
        "fig5/l2-norm-grows",
    ),
    stated("Figure 6", "t2 is proportional to 1/(αβ).", "fig6/inverse-law", "fig6/one-constant"),
    stated("Figure 6", "t2 is where the error falls to 1e-4.", "fig5/threshold-as-printed"),
    stated("Figure 6", "The error at t2 is proportional to αβ.", "fig6/error-as-printed", "fig6/error-is-the-bias"),
    stated(
        "Figure 6",
        "An outlier is due to too little training.",
        because="of one run of the authors",
    ),
    stated(
        "Figure 29",
        "Larger α or β converge faster, to a higher error.",
        "fig29/faster",
        "fig29/suboptimal",
        "fig29/all-memorise",
    ),
    stated(
        "Section 3.2 (Other Iterative Method)",
        "The results hold for the projected subgradient method.",
        "fig14/same-generalisation",
        "fig14/staged-decay",
        "fig14/nuclear-norm-converges",
        "fig14/ends-at-oracle",
        "fig14/recovers-as-oracle",
    ),
    stated(
        "Section 3.2 (Other Iterative Method)",
        "… and for the proximal gradient method.",
        "fig15/memorises-first",
        "fig15/same-generalisation",
        "fig15/staged-decay",
        "fig15/nuclear-norm-converges",
        "fig15/ends-at-oracle",
        "fig15/recovers-as-oracle",
    ),
)

SECTION_3_4 = (
    stated(
        "Section 3.3, Appendix A.3",
        "Weight decay alone drops late without understanding: of matrices.",
        "app-f2/without-understanding",
    ),
    stated(
        "Section 3.4, Definition G.9", "Local coherences and leverage scores of rows and columns.", because=DEFINITION
    ),
    stated(
        "Section 3.4",
        "Uniformly low coherence reduces the number of samples that exact recovery needs.",
        "thm-g12/low-coherence-needs-fewer",
    ),
    stated(
        "Section 3.4, Figure 8",
        "As τ → 1 performance improves.",
        "fig8/improves-with-leverage",
        "fig8/recovers-if-the-oracle-does",
        "fig23/full-leverage-costs-nothing",
    ),
    stated(
        "Section 3.4, Figure 8",
        "… the number of examples needed falls exponentially.",
        "fig8/fewer-examples",
        "fig23/fewer-exponentially-as-printed",
        "fig23/falls-to-a-floor",
        "fig23/floor-is-coverage",
    ),
    stated(
        "Section 3.4, Figure 8",
        "… and so does the time it takes.",
        "fig8/earlier-with-leverage",
        "fig8/earlier-exponentially",
        "fig8/same-memorisation",
    ),
)

APPENDIX_C = (
    stated(
        "Theorem C.40",
        "From t1 on the loss is within 2n(αβσ_max(X))²/(1-ρ₂)² of that of least squares.",
        "thm3.4/loss-in-row-space",
    ),
    stated("Theorem C.40, Eq. 78", "The memorisation step t1.", "thm3.4/memorisation-step"),
    stated(
        "Proof of Theorem C.40",
        "After a warm-up the smallest singular value of A is far above the largest of A*.",
        "thm3.4/gap-as-printed",
    ),
    stated(
        "Lemma C.41",
        "A subgradient of the nuclear norm has |vec H|_p ≤ (n1 n2)^(1/p).",
        "thm3.4/subgradients-are-bounded",
        "thm3.4/subgradients-by-side",
    ),
    stated(
        "Lemma C.42, item 1",
        "Without data, points of spectral norm below the step are stationary.",
        "thm3.4/stationary-as-printed",
    ),
    stated("Lemma C.42, item 2", "The spectral norm is below the step after ⌊|A|/a⌋ steps.", "thm3.4/shrinking"),
    stated(
        "Lemma C.42, item 3",
        "The rank afterwards is the number of singular values that are multiples of the step.",
        "thm3.4/rank-as-printed",
        "thm3.4/rank-afterwards",
    ),
    stated("Definitions C.46, C.48", "Stable and robust rank null-space property.", because=DEFINITION),
    stated(
        "Theorems C.47, C.49",
        "The properties are equivalent to error bounds between any two matrices.",
        "thm3.5/bound-between-pairs",
        "thm3.5/only-with-the-property",
    ),
    stated("Theorem C.50, Eq. 107", "C1, C2 and C3.", "thm3.5/constant-as-printed", "thm3.5/error-bound"),
)

APPENDIX_D_AND_F = (
    stated(
        "Appendix D.2, Figure 14",
        "A projected step leads into the matrices that interpolate.",
        "fig14/one-step",
        "fig14/zero-error-throughout",
        "fig14/no-bias",
        "fig14/scale-drops-out",
    ),
    stated(
        "Appendix D.2, Figures 14 and 15",
        "The figures: sensing at the sizes and the scale of the measurements that are printed.",
        "fig14/printed-scale",
        "fig15/printed-scale",
    ),
    stated(
        "Appendix D.2, Figure 15",
        "The proximal step of the nuclear norm is soft-thresholding of singular values.",
        "fig15/exact-zeros",
        "fig15/surplus-of-order-beta",
        "fig15/descends",
        "fig15/sublinear-bound",
    ),
    stated(
        "Appendix F.2",
        "In the shallow case nothing is recovered without a penalty.",
        "app-f2/shallow-stays",
        "fig5/penalty-is-needed",
    ),
    stated(
        "Appendix F.2",
        "With L ≥ 2 and a small start no penalty is needed.",
        "app-f2/depth-2",
        "app-f2/depth-3",
        "app-f2/small-by-depth",
        "app-f2/no-delay",
    ),
    stated(
        "Appendix F.2",
        "Increasing L biases towards low rank, which often recovers more accurately for sufficiently large N.",
        "app-f2/deeper-is-better",
        "app-f2/sufficiently-large-n",
        "app-f2/staircase",
    ),
    stated(
        "Appendix F.2",
        "Depth acts as a preconditioner of the shallow gradient.",
        "app-f2/balance-is-kept",
        partly="its conserved quantity is measured, not the preconditioner itself",
    ),
    stated(
        "Appendix F.2",
        "Depth recovers from fewer samples than the shallow case.",
        "app-f2/fewer-samples",
        "app-f2/beyond-nuclear-norm",
    ),
    stated(
        "Appendix F.2",
        "A start far from the origin with a small weight decay groks, given enough entries.",
        "app-f2/large-start-groks",
        "app-f2/time-scale",
        "app-f2/ends-at-nuclear-norm",
        "app-f2/balance-decays",
    ),
    stated("Appendix F.2", "… the weight decay being non-zero.", "app-f2/weight-decay-is-needed"),
)

APPENDIX_G_2 = (
    stated("Appendix G.2.1", "Matrix sensing and matrix completion as compressed sensing.", because="a set-up"),
    stated("Appendix G.2.1", "A matrix of rank r has r(n1 + n2 - r) degrees of freedom.", "thm-g12/degrees-of-freedom"),
    stated("Appendix G.2.1", "… and at least as many entries are needed.", "thm-g12/as-many-measurements"),
    stated("Theorem G.7", "C n^(5/4) r log n uniform entries are enough, with high probability.", because=CONSTANTS),
    stated(
        "Appendix G.2.2",
        "A matrix e_k e_lᵀ has little chance to be found unless its entry is chosen.",
        "thm-g12/one-entry-needs-itself",
        "thm-g12/coherent-choice-finds-it",
    ),
    stated("Definition G.8", "The coherence of a subspace is between 1 and n/r.", "thm-g12/coherence-range"),
    stated(
        "Definition G.10, Eq. 124",
        "Coherence in other orthonormal bases is that of the matrix in them.",
        because="an identity: a change of basis",
    ),
    stated("Appendix G.2.2", "μ0√r will do for μ1.", "thm-g12/second-coherence"),
    stated(
        "Appendix G.2.2, Theorem G.11",
        "The lower the coherence, the fewer samples are enough.",
        "thm-g12/low-coherence-needs-fewer",
        partly="its universal constants are not printed; the direction is measured",
    ),
    stated(
        "Appendix G.2.2, Theorem G.12",
        "Drawing entries with probability p_ij = Ω(μ_i + ν_j) recovers A* from fewer samples, whatever its coherence.",
        "thm-g12/leverage-sampling",
        "thm-g12/whatever-the-coherence",
    ),
    stated("Theorem G.12", "The number of samples is O(max(n1, n2) r log²(n1 + n2)).", "thm-g12/sample-size"),
    stated(
        "Appendix G.2.2",
        "In matrix sensing the measurements are the less incoherent with V* ⊗ U* the higher τ.",
        "thm-g12/sensing-coherence",
        "thm-g12/coherent-sensing-recovers",
    ),
    stated(
        "Appendix G.2.3, linear programming",
        "As r increases, fewer samples are needed.",
        "app-g2/rank-as-printed",
        "app-g2/grows-with-rank",
        "app-g2-100/rank-as-printed",
        "app-g2-100/grows-with-rank",
    ),
    stated(
        "Appendix G.2.3, linear programming",
        "As τ increases, fewer samples are needed.",
        "app-g2/falls-with-leverage",
        "app-g2/gains-most-at-low-rank",
        "app-g2/half-is-enough",
        "app-g2/floor-is-coverage",
        "app-g2-100/falls-with-leverage",
        "app-g2-100/falls-further-as-printed",
        "app-g2-100/half-beats-all",
    ),
    stated(
        "Appendix G.2.3, linear programming",
        "Where it is recovered the relative error is about 1e-6.",
        "app-g2-100/error-of-the-oracle",
        "app-g2/all-or-nothing",
        "app-g2/recovers-if-the-oracle-does",
    ),
    stated(
        "Appendix G.2.3, Figure 23",
        "As τ → 1 errors fall, and fewer examples are needed.",
        "fig23/improves-with-leverage",
        "fig23/fewer-examples",
        "fig23/recovers-if-the-oracle-does",
        "fig23/fewer-exponentially-as-printed",
    ),
    stated(
        "Appendix G.2.3, Figure 23",
        "… and the time falls exponentially.",
        "fig23/earlier-with-leverage",
        "fig23/earlier-exponentially",
        "fig23/same-memorisation",
    ),
)

STATEMENTS = (*SECTION_3_2, *SECTION_3_4, *APPENDIX_C, *APPENDIX_D_AND_F, *APPENDIX_G_2)
