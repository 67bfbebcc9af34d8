"""The register of the paper: its statements in their order, and the claims that check them."""

from latebloom.catalog.statements import Statement, stated

STATEMENTS: tuple[Statement, ...] = (
    stated(
        "Abstract; Theorem 1", "With small weight decay the flow first follows the unregularised one to a manifold of "
        "critical points, then drifts along it on the time scale 1/λ to smaller norm.",
        "fig1/follows-unregularised-flow", "fig1/norm-drops", "prop1/linear-in-lambda", "prop2/linear-in-lambda",
        "prop2-smooth/converges-uniformly",
    ),
    stated(
        "Figure 1 (left)", "The training loss drops to zero and stays there; the test loss plateaus and falls later.",
        "fig1/train-stays-zero", "fig1/plateau", "fig1/test-improves", "fig1/grokking",
        partly="the figure's problem is not printed: Figure 2's stands for it",
    ),
    stated(
        "Caption of Figure 1", "The fall of the test loss coincides with a steady drop of the norm.",
        "fig1/norm-drops", "fig1/norm-at-the-end", "fig2/coincides-with-norm",
    ),
    stated(
        "Figure 1 (right)", "The path follows the unregularised flow, then runs along the manifold to the least norm.",
        "fig1/follows-unregularised-flow", "fig1/ends-at-oracle", "fig1/recovers",
    ),
    stated(
        "Section 1", "The unregularised solution generalises poorly from large initial weights.",
        "fig4/larger-starts-generalise-worse",
    ),
    stated("Section 1", "No statistical assumption is made: the result implies no improvement of the test loss by "
           "itself.", because="a remark on what is not claimed"),
    stated(
        "Section 2", "Grokking cannot occur in regression without weight decay.",
        "fig2/weight-decay-is-needed", "fig4/weight-decay-is-needed", "matrix-sensing/weight-decay-is-needed",
        partly="three problems: without it the flow stays where it interpolates",
    ),
    stated("Assumption 1", "F is C³ and definable, and the unregularised flow is bounded.",
           because="a class of functions; the losses here are polynomials or compositions of tanh, and end"),
    stated(
        "Assumption 2", "The Hessian has the same rank all over the manifold and its non-zero eigenvalues are at least "
        "η > 0.", "limit-map/morse-bott", "limit-map/morse-bott-of-completion",
        "limit-map/morse-bott-at-a-crossing",
    ),
    stated(
        "Section 3.1; Eq. 17", "Then F satisfies the Polyak-Łojasiewicz inequality near the manifold.",
        "limit-map/polyak-lojasiewicz",
    ),
    stated("Section 3.1", "Every point of the manifold is a local minimiser.", "limit-map/minimal-on-the-set"),
    stated("Section 3.1", "Gradient flow avoids saddle points from almost all starts.",
           because="a statement on a set of measure zero, cited"),
    stated("Section 3.1", "The tangent space of the manifold is the kernel of the Hessian.",
           "limit-map/tangents-are-the-kernel"),
    stated("Section 3.1; Eq. 3", "The Riemannian flow stays on the manifold.", "prop2/on-the-zero-loss-set"),
    stated(
        "Proposition 1", "On [0, T] the flow converges uniformly to the unregularised one as λ → 0.",
        "prop1/linear-in-lambda", "prop1/without-the-exponential",
    ),
    stated(
        "Section 4.1", "It does not on all times: the limits λ → 0 and t → ∞ do not commute.",
        "prop1/not-uniform-on-all-times", "prop4/double-limit",
    ),
    stated("Eq. 4; Lemma 1", "Φ is defined and C² on a neighbourhood of the manifold.",
           "limit-map/twice-differentiable"),
    stated(
        "Section 4.2, after Eq. 6", "On the manifold DΦ is the orthogonal projection onto the kernel of the Hessian.",
        "limit-map/derivative-is-the-projection",
    ),
    stated(
        "Proposition 2", "On [ε, T] of slow time the flow converges uniformly to the Riemannian flow of the norm.",
        "prop2-smooth/converges-uniformly", "prop2/linear-in-lambda",
    ),
    stated("Section 4.2, after Proposition 2", "ε > 0 is needed.", "prop2/not-at-zero"),
    stated("Eq. 6", "The slow flow starts at Φ(w0).", "prop2/start-at-the-limit-map"),
    stated(
        "Sketch of proof of Proposition 2", "Near the manifold DΦ(w)·∇F(w) = 0.",
        "limit-map/derivative-along-the-gradient",
    ),
    stated("Section 4.2, before Eq. 7", "The norm is monotone along the slow flow.", "prop4/norm-decreases"),
    stated(
        "Section 4.2, before Proposition 3", "The limit set of the slow flow is contained in the KKT points.",
        "prop4/slow-flow-to-kkt", "prop4/slow-flow-to-kkt-degenerate", "prop2-smooth/ends-at-kkt-points",
    ),
    stated(
        "Proposition 3", "As λ → 0 the limits of the flow tend to KKT points of least norm.",
        "prop4/ends-are-kkt-points", "prop2-smooth/ends-where-the-slow-flow-ends",
    ),
    stated(
        "Proposition 4", "If the slow flow tends to a strict local minimum, the limits of the flow tend to it.",
        "prop4/double-limit", "prop2-smooth/ends-where-the-slow-flow-ends", "prop4/double-limit-without-strictness",
    ),
    stated(
        "Proposition 4, hypothesis", "The slow flow converges to a strict local minimum.",
        "prop4/strict-minimum", "prop4/strict-minimum-of-two-factors",
    ),
    stated(
        "Section 4.2 (Comparison with Lyu et al.)", "The results hold outside the lazy regime and need no large start.",
        "prop2/outside-the-lazy-regime", "prop2-smooth/converges-uniformly", "prop2/linear-in-lambda",
    ),
    stated(
        "Section 5 (Linear regression)", "The unregularised flow ends at the projection of the start; the slow flow at "
        "the solution of least norm.", "linear-regression/first-phase", "linear-regression/second-phase",
    ),
    stated("Section 5 (Linear regression)", "The latter generalises better.", "linear-regression/generalises-better"),
    stated("Section 5 (Linear regression)", "Assumption 2 holds globally.", "limit-map/morse-bott"),
    stated(
        "Section 5 (Matrix completion)", "With r = m + n the stationary points that are nonsingular form a manifold.",
        "full-width/manifold", "full-width/starts-nonsingular",
    ),
    stated(
        "Section 5 (Matrix completion)", "There the slow phase minimises |U|² + |V|², which drifts to low rank.",
        "full-width/least-norm", "full-width/drifts-to-low-rank",
    ),
    stated(
        "Section 5 (Matrix completion)", "The nuclear norm is the least (|U|² + |V|²)/2: the slow phase minimises it.",
        "fig2/least-norm", "fig2/ends-at-oracle",
    ),
    stated(
        "Section 5 (Matrix completion)", "This is a drift toward matrices of low rank.", "fig2/small-values-fall",
    ),
    stated(
        "Caption of Figure 2", "The training loss drops quickly to zero.",
        "fig2/memorises-first", "fig2/memorisation-time",
    ),
    stated("Caption of Figure 2", "The singular values converge to large values at t ≈ 1.",
           "fig2/singular-values-settle"),
    stated(
        "Caption of Figure 2", "Grokking starts around t ≈ 1e2.", "fig2/grokking-starts", "fig2/begins-earlier",
    ),
    stated("Caption of Figure 2", "All but three singular values decay to zero.", "fig2/all-but-three-decay"),
    stated("Caption of Figure 2", "The other three approach the true ones.", "fig2/true-singular-values"),
    stated(
        "Section 5 (Matrix completion)", "Around t = 1/λ the weight norms begin to decrease.",
        "fig2/norm-falls-around-1/λ", "fig2/error-falls-on-slow-time",
    ),
    stated("Section 5 (Matrix completion)", "By t ≈ 1e4 the flow has drifted to a solution that coincides with M*.",
           "fig2/recovers-by-1e4"),
    stated(
        "Section 5 (Matrix completion)", "From 50 % of the entries of a random matrix of rank 3 the end is M*.",
        "fig2/random-draw-as-printed", "fig2/random-draw-with-more-entries", "fig2/recovers",
        "fig2/recovers-if-the-oracle-does",
    ),
    stated("Appendix D.1", "Gradient descent at the printed step is the flow (Figure 2).",
           "fig2/iteration-follows-flow"),
    stated("Section 5 (ReLU network)", "By t = 1 the training loss is nearly zero.",
           "fig3/loss-drops-by-1", "fig3/memorises-early"),
    stated(
        "Section 5 (ReLU network)", "There the iterates are close to the unregularised flow, whose norm is not low.",
        "fig3/follows-unregularised-flow", "fig3/early-norm-is-not-low", "fig3/many-kinks-first",
    ),
    stated("Caption of Figure 3", "The test loss remains high and improves later.",
           "fig3/generalises-late", "fig3/improves"),
    stated(
        "Section 5 (ReLU network)", "Around t = 1/λ the weight norms begin to decrease.",
        "fig3/norm-falls-around-1/λ", "fig3/norm-decays-freely",
    ),
    stated(
        "Section 5 (ReLU network)", "By t ≈ 1e5 the weights have drifted to a solution of zero training loss.",
        "fig3/zero-loss-at-the-end", "fig3/bias-of-weight-decay",
    ),
    stated("Section 5 (ReLU network)", "Solutions of low norm have few kinks.", "fig3/few-kinks"),
    stated(
        "Appendix D.1", "1e6 iterations with a small step reach t = 1e5 (Figure 3).",
        "fig3/steps-and-time-as-printed", "fig3/flow-is-the-limit",
    ),
    stated(
        "Section 6", "Small starts converge slowly or to suboptimal solutions of the training loss.",
        "fig4/small-start-is-slower", partly="that they may stop short of zero loss is cited, and not seen here",
    ),
    stated("Section 6", "Grokking is a compromise: it fits fast and generalises well.",
           "fig4/grokking-is-a-compromise"),
    stated("Section 6", "In classification the manifold is at infinity; that is future work.",
           because="an outlook"),
    stated("Appendix A.1, Eq. 9", "The distance to the unregularised flow is at most λ t exp(ct) sup|w|.",
           "prop1/groenwall-bound"),
    stated(
        "Lemma 2", "At slow times of order -λ ln λ the flow is close to the end of the unregularised one.",
        "junction/junction", "junction/order", "junction/in-the-window",
    ),
    stated(
        "Appendix A.2, after Lemma 2", "That order is necessary.",
        "junction/necessary-as-printed", "junction/any-vanishing-slow-time",
    ),
    stated(
        "Proof of Lemma 2", "At time -ln λ/(2c) the flow tends to Φ(w0).",
        "junction/at-the-time-of-the-proof", "junction/time-of-the-proof-is-early",
    ),
    stated(
        "Lemma 3", "From starts that tend to the manifold the trajectory stays in any neighbourhood of it, for small "
        "λ.", "prop2-smooth/stays-near-the-manifold",
    ),
    stated("Lemma 4", "From such starts the convergence is uniform on [0, T].", "prop2-smooth/uniform-from-zero-on"),
    stated("Appendix A.4, Eq. 13", "The distance of the flow's limit to the manifold is of order λ.",
           "prop4/ends-are-kkt-points"),
    stated(
        "Appendix A.4, after Eq. 13", "Projecting (w_∞ - w_k)/λ onto the kernel of ∇²F does not change its product "
        "with ∇²F.", "prop4/projection-as-printed", "prop4/projection-on-the-complement",
    ),
    stated("Appendix B.1, Eqs. 18 and 19", "Near the manifold |∇F| ≤ β √F, and F is between (η/8) d² and α d².",
           "limit-map/quadratic-growth", "limit-map/smooth-from-above"),
    stated("Lemma 5", "Off the manifold, near it, F(w) = sup F over it (printed for >).",
           "limit-map/lemma-5-as-printed", "limit-map/minimal-on-the-set"),
    stated("Proof of Lemma 5", "w - Φ(w) = -∫∇F and F(w) - F* = -∫|∇F|².",
           "limit-map/integrals-as-printed", "limit-map/integrals-with-plus"),
    stated("Lemma 6", "The slow flow solves w' = -DΦ(w) w.", "limit-map/derivative-is-the-projection"),
    stated("Lemma 7", "The flows are in one compact set for all λ.", "prop2/bounded-for-every-lambda"),
    stated("Lemma 8", "On a small sphere around a strict minimum F_λ exceeds F_λ(w*) by λε.", "prop4/barrier"),
    stated(
        "Appendix C, Eq. 23", "Across the manifold linear regression moves at the rate σ² + λ.",
        "linear-regression/rate-as-printed", "linear-regression/rate-doubled", "linear-regression/rate-of-half-the-sum",
    ),
    stated("Appendix C, Eq. 24", "Along the manifold it decays as exp(-λt).", "linear-regression/kernel-rate"),
    stated("Proposition 5", "Diagonal networks: where no coordinate is zero, a manifold of dimension 2d - n.",
           "fig4/manifold-of-dimension-2d-less-n"),
    stated("Appendix C, before Proposition 5", "The set is singular at points with zero coordinates.",
           "fig4/ends-singular"),
    stated("Appendix C", "|w|_1 is the least |u|² + |v|² with u² - v² = w; the slow phase drifts to small l1 norm.",
           "fig4/minimum-norm", "fig4/ends-at-lasso", "dichotomy/thm3.10/rich-predictor"),
    stated("Proposition 6", "Matrix sensing: where W is invertible, the critical points form a manifold.",
           "matrix-sensing/starts-regular", "matrix-sensing/manifold-of-invertible-points"),
    stated("Appendix C (Low-rank matrix sensing)", "Asymmetric completion is symmetric completion of a larger matrix.",
           because="an identity of notation"),
    stated(
        "Appendix C (Low-rank matrix sensing)", "The second phase drives the flow to a low-rank solution.",
        "matrix-sensing/memorises-first", "matrix-sensing/norm-falls-on-slow-time", "matrix-sensing/drifts-to-low-rank",
        "matrix-sensing/recovers",
    ),
    stated(
        "Appendix C (Dealing with singularities)", "The slow flow may end at singular points, of which Proposition 4 "
        "is silent; the convergence there is open.",
        "matrix-sensing/ends-singular", "matrix-sensing/rank-is-lost", "matrix-sensing/least-trace",
    ),
    stated("Appendix D.2", "By t = 1e2 the training loss is nearly zero.", "fig4/memorises-early"),
    stated(
        "Appendix D.2", "There the iterates are close to the unregularised solution, which is not of low norm.",
        "fig4/follows-unregularised-flow", "fig4/early-norm-is-not-low", "fig4/overfits-first",
    ),
    stated("Appendix D.2", "That solution is characterised by the implicit bias of Woodworth et al.",
           "fig4/implicit-bias"),
    stated("Appendix D.2, footnote 4", "A much smaller start reaches the end without weight decay, in longer time.",
           "fig4/small-start-without-decay", "fig4/small-start-is-slower"),
    stated("Appendix D.2", "Around t = 1/λ the weight norms begin to decrease.",
           "fig4/norm-falls-around-1/λ", "fig4/norm-rises-first"),
    stated("Caption of Figure 4", "The test loss stays flat and falls after t ≈ 1/λ.", "fig4/generalises-late"),
    stated("Appendix D.2", "By t ≈ 1e5 it has converged.", "fig4/ends-by-1e5"),
    stated("Appendix D.2", "The end has the least norm, and the product the least l1 norm.",
           "fig4/ends-at-basis-pursuit", "fig4/minimum-norm"),
    stated(
        "Appendix D.2", "Least l1 recovers the sparsest solution under RIP conditions: the test loss is zero.",
        "fig4/oracle-is-exact", "fig4/recovers-where-the-oracle-does",
        partly="the restricted isometry constant itself is not computed",
    ),
)  # fmt: skip
