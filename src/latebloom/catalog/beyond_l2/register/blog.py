"""Statements of the blog post."""

from latebloom.catalog.statements import Statement, stated

WHY: tuple[Statement, ...] = (
    stated(
        "Summary",
        "The l2 norm need not decrease with generalisation when it is not the property sought.",
        "fig1/l2-norm-increases",
    ),
    stated("Figure 1", "p = 97, 40 %, Adam, β = 1e-6: all training points right at t1 ≈ 540.", "blog-fig1/memorises"),
    stated("Figure 1", "All validation points right at t2 ≈ 9150.", "blog-fig1/generalises"),
    stated(
        "What is grokking?",
        "Generalisation comes after a long and severe overfitting.",
        *("blog-fig1/overfits-as-printed", "blog-fig1/mirrored-pairs-leak"),
        *("blog-fig1/two-embeddings-overfit", "blog-fig1/two-embeddings-grok"),
    ),
    stated(
        "Why grokking?",
        "Regularisation is what causes it.",
        *("blog-fig1/penalty-drives", "blog-fig1/penalty-completes", "blog-fig1/drops-frequencies"),
    ),
    stated(
        "Goldilocks zone",
        "At too small a norm a model underfits, at too large a norm it overfits.",
        *("blog-accounts/test-loss-is-a-u", "blog-accounts/training-loss-is-an-l"),
    ),
    stated(
        "Goldilocks zone",
        "Solutions that generalise lie near a spherical shell (the view argued against).",
        "rescaling/shell-as-printed",
    ),
    stated(
        "Figure 2",
        "The training loss is an L and the test loss a U as functions of the norm.",
        *("blog-accounts/training-loss-is-an-l", "blog-accounts/test-loss-is-a-u", "rescaling/u-shape-along-a-ray"),
    ),
    stated("LU mechanism", "(λA, B/λ^L) is the same function for every λ > 0.", "rescaling/same-function"),
    stated(
        "LU mechanism",
        "Its norm is w(λ) = aλ² + b/λ^2L, least at λ0, with w(λ0) in closed form, infinite at both ends.",
        *("rescaling/norm-by-formula", "rescaling/least-where-the-formula-says", "rescaling/least-value"),
    ),
    stated(
        "LU mechanism",
        "So the norm can be raised at will without any change of generalisation.",
        *("rescaling/any-norm-generalises-alike", "rescaling/decay-balances", "rescaling/imbalance-law"),
        "rescaling/free-stays-unbalanced",
    ),
    stated(
        "LU mechanism",
        "A solution that generalises is near the start, however large that is.",
        *("rescaling/near-any-start", "rescaling/rescalings-stay-away"),
    ),
    stated(
        "LU mechanism",
        "A large start with weight decay makes a transition that is not generalisation.",
        *("fig7/late-drop", "fig7/without-understanding"),
    ),
    stated(
        "Figure 3 (top)",
        "l1, l2 and nuclear norm all grok; smaller β later.",
        *("fig1/all-grok", "fig1/smaller-is-later"),
    ),
    stated(
        "Figure 3 (bottom)",
        "With l1 the l2 norm is not monotone after memorisation, and rises.",
        *("fig1/l2-norm-increases", "fig1/l2-norm-falls-first"),
    ),
    stated("LU mechanism", "A more general complexity has to replace the norm.", because="a programme"),
)

RICH: tuple[Statement, ...] = (
    stated(
        "Kernel to rich regime",
        "The transition is at t2 = log γ/β, γ the norm of the start.",
        *("dichotomy/time-law/slope-one", "dichotomy/time-law/constant-in-the-norm"),
    ),
    stated(
        "Kernel to rich regime",
        "At (1-ε)t2 θ/|θ| is the max-margin direction on the tangent features.",
        *("blog-accounts/weights-at-t1-as-printed", "blog-accounts/weights-along-the-start"),
        "blog-accounts/change-is-the-kernel-direction",
    ),
    stated(
        "Kernel to rich regime",
        "In regression it is the least-norm interpolator on the tangent features.",
        "dichotomy/thm3.9/kernel-limit",
    ),
    stated(
        "Kernel to rich regime",
        "At (1+ε)t2 θ is along a KKT point of min |θ| under y⟨y(x), θ⟩ ≥ 1.",
        *("blog-accounts/constraint-as-printed", "blog-accounts/stationary-after-t2"),
    ),
    stated(
        "Figure 4",
        "With l2 alone and a large start the error drops late, and not to the truth.",
        *("fig7/late-drop", "fig7/without-understanding", "fig16/without-understanding"),
    ),
    stated(
        "Figure 4 (text)",
        "So it does where nothing can be recovered, with far too few samples.",
        "fig7/drop-without-solution",
    ),
    stated(
        "Theorem 3.6",
        "l2 descent converges geometrically to the ridge solution.",
        *("thm3.6/geometric-bound", "thm3.6/sharp-rate"),
    ),
    stated(
        "Theorem 3.6",
        "For N < n that misses the truth by the part outside the measurements.",
        *("thm3.6/lower-bound", "thm3.6/lower-bound-is-tight"),
    ),
    stated(
        "after Theorem 3.6",
        "With l1 descent first goes to the solution of least l2 norm, which only memorises, then to the truth.",
        *("fig24/first-to-least-squares", "fig24/then-to-truth"),
    ),
    stated("after Theorem 3.6", "So the l2 norm is no indicator of grokking.", "fig1/l2-norm-increases"),
)

BEYOND: tuple[Statement, ...] = (
    stated(
        "Main theorem, memorisation",
        "The iterates move exponentially fast to a minimiser of g close to the start.",
        *("thm2.1/decays-geometrically", "thm2.1/stays-in-the-ball", "thm2.1/memorises-in-time"),
    ),
    stated(
        "Main theorem, generalisation",
        "Then f ≈ f* up to O(αβ²), within Θ(1/(αβ)) further steps.",
        *("thm2.1/gap-within-delay", "thm2.1/delay-goes-like-one-over-beta", "thm2.1/force-of-order-beta"),
    ),
    stated(
        "Main theorem, generalisation",
        "And h ≈ h_g* up to O(αβ).",
        *("app-c/penalty-stays-above", "app-c/least-value"),
    ),
    stated("Definition 1", "χ and the r-CL inequality.", "thm2.1/is-cl"),
    stated("Definition 2", "L-smoothness.", because="a definition"),
    stated("Lemma 1 (first point)", "The descent lemma, with the gradient at y.", "misprints/descent-lemma"),
    stated("Lemma 1 (second point)", "|∇φ|² ≤ 2Lφ for φ ≥ 0.", "thm2.1/gradient-by-loss"),
    stated(
        "Lemma 1 (third point)",
        "L-smooth means eigenvalues of the Hessian in [-L, L].",
        "misprints/eigenvalues-bound-smoothness",
    ),
    stated(
        "(i)",
        "While β|H| ≤ |G| the iterates are in the ball, g falls geometrically and |∇g|² ≤ 2Lg.",
        *("thm2.1/stays-in-the-ball", "thm2.1/decays-geometrically", "thm2.1/gradient-by-loss"),
    ),
    stated("(ii)", "γ|G(x0)| ≥ τ^-t βL_h makes G dominate up to step t.", "thm2.1/gradient-dominates"),
    stated(
        "(i) and (ii)",
        "So g reaches any precision ε_g = Ω(β^C) in the ball.",
        *("thm2.1/memorises-in-time", "thm2.1/exponent-is-positive"),
    ),
    stated(
        "Assumption 1",
        "PL gives 4g < r²χ for all r² ≥ 2g/μ.",
        *("misprints/pl-gives-cl-as-printed", "app-c/pl-gives-cl"),
    ),
    stated(
        "Theorem under PL",
        "If |H| ≤ |G|, g falls by 1 - δ a step, δ = μα((2 - αL)(1 + β) + αβ²L).",
        *("misprints/pl-theorem-as-printed", "misprints/pl-theorem"),
    ),
    stated(
        "Proof of (ii)",
        "σ_max of the Hessian is at most √p times its largest entry.",
        *("misprints/smoothness-as-printed", "misprints/smoothness"),
    ),
    stated(
        "Sparsity",
        "First near least squares at t1, then |a|₁ within O(αβ) of |a*|₁ after the order of ‖â-a*‖_∞/(αβ) steps.",
        *("thm3.1/bound-in-row-space", "thm3.1/delay-is-enough", "fig4/inverse-law"),
    ),
    stated(
        "Sparsity",
        "|a-a*|₁ = O(αβ) if and only if t ≥ t1 + ‖â-a*‖_∞/(αβ).",
        *("fig4/caption-constant", "fig4/error-as-printed", "fig4/error-depends-on-strength"),
    ),
    stated("Figure 5 (sparse)", "G dominates until t1, then βH; a(t2) = a*.", "fig3/ratio-flips", "fig3/grokking"),
    stated(
        "Figure 6 (sparse)",
        "t2 ∝ ‖â-a*‖_∞/(αβ), and the error ∝ αβ.",
        *("fig4/inverse-law", "fig4/one-constant", "fig4/caption-constant", "fig4/error-as-printed"),
    ),
    stated("Figure 7 (sparse)", "Small αβ is slower and better.", *("fig26/faster", "fig26/suboptimal")),
    stated(
        "Low-rankness",
        "The same with the nuclear and the spectral norm.",
        *("thm3.4/bound-in-row-space", "thm3.4/delay-is-enough", "fig6/caption-constant", "fig6/error-as-printed"),
    ),
    stated("Figure 5 (low rank)", "G dominates until t1, then βH; A(t2) = A*.", "fig5/ratio-flips", "fig5/grokking"),
    stated(
        "Figure 6 (low rank)",
        "t2 ∝ ‖Â-A*‖/(αβ), and the error ∝ αβ.",
        *("fig6/inverse-law", "fig6/one-constant", "fig6/error-as-printed", "fig6/error-is-the-bias"),
    ),
    stated("Algorithmic dataset and later", "Names of figures.", because="no text; the figures are the paper's"),
)

STATEMENTS = (*WHY, *RICH, *BEYOND)
