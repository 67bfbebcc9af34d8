"""Statements of Section 2 and Appendix C.1 to C.4: the general theorem and what it stands on."""

from latebloom.catalog.statements import Statement, stated

NO_SAMPLE = "a definition"

FRONT: tuple[Statement, ...] = (
    stated(
        "Abstract",
        "Where a model with a property fits the data, a small regularisation of that property makes descent grok.",
        *("fig3/grokking", "fig5/grokking", "fig1/all-grok"),
    ),
    stated(
        "Abstract, contribution (ii)",
        "Depth groks or ungroks without any regularisation.",
        *("fig9/depth-recovers", "fig17/depth-recovers", "app-f2/no-delay"),
    ),
    stated(
        "Abstract, contribution (iv)",
        "The l2 norm can grow while the model generalises, and is no proxy for it.",
        "fig1/l2-norm-increases",
    ),
    stated(
        "Contribution (iii)",
        "The choice of the samples alone speeds grokking up.",
        *("fig8/earlier-with-leverage", "fig23/earlier-with-leverage"),
    ),
    stated(
        "Equation 2, Definition C.9",
        "χ is the infimum of |∇g|²/g over a ball; g is r-CL at x if 4g(x) < r²χ.",
        *("thm2.1/is-cl", "thm2.1/chi-is-a-lower-bound"),
    ),
    stated(
        "Theorem 2.1 (first part), C.10",
        "If g is r-CL at the start, small α and β have a t1 with g ≤ ε_g, all iterates up to it in the ball.",
        *("thm2.1/memorises-in-time", "thm2.1/stays-in-the-ball", "thm2.1/decays-geometrically"),
    ),
    stated(
        "Theorem 2.1 (first part)",
        "ε_g can be as small as Ω(β^C) for a constant C > 0.",
        *("thm2.1/memorises-in-time", "thm2.1/exponent-is-positive", "thm2.1/reaches-beta-squared"),
    ),
    stated(
        "Theorem 2.1 (second part), C.10",
        "f - f* falls to (η + C'αβ)β/2 by t1 + Δt(η), Δt = dist²(x(t1), Θ_f)/(αβη).",
        *("thm2.1/gap-within-delay", "thm2.1/gap-within-delay-beyond-convexity"),
    ),
    stated(
        "Theorem 2.1 (the 'if and only if')",
        "f - f* does not fall to (η + C'αβ)β/2 before t1 + Δt(η).",
        "thm2.1/only-if-as-printed",
    ),
    stated(
        "Theorem 2.1 ('moreover')",
        "If f and g have a minimiser in common, h - h_g* is (η + C'αβ)/2 after t1 + Δt(η).",
        "app-c/penalty-stays-above",
    ),
    stated(
        "Section 2.2",
        "With a β that is too large g is never minimised.",
        "fig1/collapse",
    ),
    stated(
        "Section 2.2",
        "f and h approach f* and h_g* within Θ(1/(αβ)) steps after t1.",
        *("thm2.1/delay-goes-like-one-over-beta", "fig4/inverse-law", "fig6/inverse-law"),
    ),
    stated(
        "Section 2.2",
        "So the time of grokking is proportional to 1/(αβ) (Figure 2).",
        *("fig2/proportional-as-printed", "fig2/grows-slower", "thm2.1/delay-goes-like-one-over-beta"),
    ),
    stated(
        "Section 2.2",
        "With |x|² and the flow that is the 1/β of earlier work.",
        *("dichotomy/time-law/slope-one", "thm2.1/delay-goes-like-one-over-beta"),
    ),
    stated(
        "Section 2.2, Theorem C.28",
        "For β below a β_max(ε) > 0, f = g + βh is εr-CL at the start, too.",
        *("app-c/f-is-cl-as-printed", "app-c/strengths-there-are-as-printed"),
    ),
    stated(
        "Section 2.2, Appendix C.3",
        "Then all iterates stay in the ball of radius εr and converge there to a minimiser of f.",
        "app-c/stays-for-good-as-printed",
    ),
    stated(
        "Section 2.2, Appendix C.3",
        "Then f - f* falls geometrically from the first step, at a rate δ = Θ(α).",
        "app-c/f-decays-geometrically-as-printed",
    ),
    stated(
        "Section 2.2",
        "A convex function that takes its infimum is zero where it is stationary.",
        "misprints/convex-is-zsp-as-printed",
    ),
    stated("Section 2.2, Definition C.26", "So are the l1, l2 and nuclear norms.", "app-c/norms-are-zsp"),
)

RELATED: tuple[Statement, ...] = (
    stated(
        "Appendix A.1",
        "Stochasticity is not needed: the iterations that grok are deterministic.",
        *("fig3/grokking", "fig5/grokking", "thm2.1/delay-goes-like-one-over-beta"),
    ),
    stated("Appendix A.1, A.3", "A large start is not needed.", *("fig3/grokking", "fig1/all-grok")),
    stated(
        "Appendix A.1",
        "The smallest feasible β and long training do best.",
        *("fig29/suboptimal", "fig6/error-is-the-bias", "fig26/suboptimal"),
    ),
    stated(
        "Appendix A.1",
        "In sparse recovery and low-rank factorisation l2 alone makes a drop that is not generalisation.",
        *("fig7/without-understanding", "app-f2/without-understanding"),
    ),
    stated("Appendix A.2, A.3", "Distillation, finite fields, sparse parities.", because="an outlook"),
)

THEOREM: tuple[Statement, ...] = (
    stated("Definitions C.1, C.2", "Subdifferentiability and convexity.", because=NO_SAMPLE),
    stated(
        "Definition C.3",
        "L-smoothness is a Lipschitz gradient, the descent lemma, a bound on the Hessian.",
        *("misprints/descent-lemma", "misprints/eigenvalues-bound-smoothness"),
    ),
    stated(
        "Definition C.3",
        "For a convex g it is cocoercivity of the gradient.",
        *("misprints/cocoercive-as-printed", "misprints/cocoercive"),
    ),
    stated("Lemma C.4", "|∇g|² ≤ 2Lg for an L-smooth g ≥ 0.", "thm2.1/gradient-by-loss"),
    stated("Equation 4", "f* ≥ g* + βh*.", because="an inequality of infima that holds by definition"),
    stated(
        "Assumption C.5",
        "f and g have a minimiser in common.",
        *("app-c/minimiser-in-common", "app-c/bias-of-order-beta-squared"),
    ),
    stated("Lemma C.6", "Then f* = g* + βh_g*.", *("app-c/least-value-as-printed", "app-c/least-value")),
    stated("Assumptions C.7, C.8", "The least value of g is 0, and is taken.", "thm2.1/free-descent-converges"),
    stated("Equation 7", "α_max and β_max of the theorem.", "thm2.1/below-the-limits"),
    stated(
        "Equation 7",
        "L = √p L₂ bounds the curvature.",
        *("misprints/smoothness-as-printed", "misprints/smoothness"),
    ),
    stated("Equation 8", "t(ε_g) = log(ε_g/g(x0))/log(1-δ) is early enough.", "thm2.1/memorises-in-time"),
    stated(
        "Equation 9",
        "ε_g = Dβ^C with C = log(1-δ)/log τ and D of the start.",
        *("thm2.1/memorises-in-time", "thm2.1/exponent-is-positive", "thm2.1/reaches-beta-squared"),
    ),
    stated(
        "after Equation 10",
        "From t1 on |F|² = O(β²).",
        *("thm2.1/force-of-order-beta-as-meant", "thm2.1/force-of-order-beta"),
    ),
    stated(
        "Lemma C.11 (1), (3)",
        "There are ε, and γ < 1 - ε, with room in the r-CL inequality.",
        "thm2.1/is-cl",
        partly="found for the three losses; the lemma is about two numbers",
    ),
    stated("Lemma C.11 (2)", "There are ε and γ < ε.", *("misprints/choice-as-printed", "misprints/choice")),
    stated(
        "Lemma C.12, Equation 13",
        "The least f - f* from t1 to t2 is at most (dist² + Δα² max|F|²)/(2Δα).",
        *("app-c/descent-on-f", "app-c/descent-from-a-saddle"),
    ),
    stated(
        "Lemma C.12, Equation 14",
        "The least (g - g*) + β(h - h_g*) likewise, with the distance to Θ_g.",
        *("app-c/descent-on-both-as-printed", "app-c/descent-on-both"),
    ),
    stated(
        "Theorem C.13",
        "So f - f* ≤ (η + Cαβ)β/2 if and only if t2 ≥ t1 + R²/(αβη).",
        *("thm2.1/gap-within-delay", "thm2.1/only-if-as-printed", "thm3.1/only-if-as-printed"),
    ),
    stated(
        "Theorem C.14",
        "If γ|G(x0)| ≥ βL_h/τ^k, the gradient of g dominates up to step k.",
        "thm2.1/gradient-dominates",
    ),
    stated("Theorem C.14", "L_h, of the entries of H, bounds |H|₂.", *("misprints/pull-as-printed", "misprints/pull")),
    stated(
        "Theorem C.15",
        "Without a penalty the iterates converge geometrically to a zero of g in the ball.",
        "thm2.1/free-descent-converges",
    ),
    stated(
        "Theorem C.16",
        "While γ|G| ≥ β|H|: in the ball, g ≤ (1-δ)^j g(x0), |∇g|² ≤ 2Lg.",
        *("thm2.1/stays-in-the-ball", "thm2.1/decays-geometrically", "thm2.1/gradient-by-loss"),
    ),
    stated("Lemma C.17", "The iterates stay in the ball.", "thm2.1/stays-in-the-ball"),
    stated("Lemma C.18", "Taylor's formula with integral remainder.", because="a textbook identity"),
    stated("Lemma C.19", "The remainder of a step is at most εα|∇g|².", "thm2.1/remainder"),
    stated("Lemma C.20", "g falls geometrically with δ = (1-ε)χα.", "thm2.1/decays-geometrically"),
    stated("Lemma C.21", "A step lowers g by (1-ε)α|∇g|² or more.", "thm2.1/remainder"),
    stated(
        "Lemma C.22",
        "The steps add up to √(4(1+γ)²g(x0)/χ)/(1-ε).",
        *("thm2.1/path-length-as-printed", "thm2.1/path-length"),
    ),
    stated("Definition C.23", "The PL inequality for subgradients.", because=NO_SAMPLE),
    stated(
        "Theorem C.24",
        "A μ-PL function is r-CL for all r² ≥ 2g/μ.",
        *("misprints/pl-gives-cl-as-printed", "app-c/pl-gives-cl"),
    ),
    stated("Theorem C.25", "Under PL g falls by 1 - μα(2 - αL) a step.", "app-c/pl-rate"),
    stated(
        "Theorem C.25",
        "At α = 1/L that is μ/L.",
        *("misprints/rate-under-pl-as-printed", "misprints/rate-under-pl"),
    ),
    stated("Definition C.26", "ZSP: zero wherever stationary; l_p and nuclear norms are.", "app-c/norms-are-zsp"),
    stated(
        "before Lemma C.27",
        "A convex function that takes its infimum is ZSP.",
        "misprints/convex-is-zsp-as-printed",
    ),
    stated(
        "Lemma C.27",
        "A convex φ less its least value is ZSP; not every ZSP function is convex.",
        "misprints/zsp-is-not-convexity",
        partly="the converse; the first half is the definition of convexity at a stationary point",
    ),
    stated(
        "Theorem C.28 (first and second point)",
        "f is εr-CL for β up to min{√(gχ)/4L, (√Δ - B)/2C, …}.",
        *("app-c/strengths-there-are-as-printed", "app-c/f-is-cl-as-printed"),
    ),
    stated(
        "Theorem C.28 (third point)",
        "So it is on balls without a zero of g, with a third bound on β.",
        *("app-c/strengths-there-are-as-printed", "app-c/f-is-cl-as-printed"),
    ),
    stated(
        "Lemma C.31 (3)",
        "After sign descent on |a|₁ as many entries are left as were multiples of α.",
        *("misprints/entries-left-as-printed", "misprints/entries-left"),
    ),
    stated(
        "Lemma C.42 (3)",
        "After descent on |A|_* the rank is the number of singular values that were multiples of α.",
        *("misprints/rank-left-as-printed", "misprints/rank-left-is"),
    ),
    stated(
        "Lemma C.43",
        "H(A - A*) = H(A) if A* = UBVᵀ with a small B.",
        *("misprints/same-direction-as-printed", "misprints/same-direction"),
    ),
    stated(
        "Lemma C.45",
        "A bound on |H(A - A*) - H(A)| by the ratio of singular values.",
        *("misprints/turn-bound-as-printed", "misprints/turn-bound"),
    ),
)

STATEMENTS = (*FRONT, *RELATED, *THEOREM)
