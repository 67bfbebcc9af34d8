"""The register of the paper: its statements in their order, and the claims that check them."""

from latebloom.catalog.statements import Statement, stated

TOYS = (
    stated(
        "Section 3.1, Figure 1",
        "Two weights trained on 1 + 1 = 2 from (-1, 1), with λ of 0.01, 0.1 and 0.2: training loss is very low after "
        "10 steps.",
        "fig1/memorises-in-ten-steps",
        "fig1/steps-equal-closed-form",
    ),
    stated("Section 3.1", "The test loss takes a few hundred steps.", "fig1/test-takes-hundreds"),
    stated(
        "Section 3.1",
        "A smaller λ gives a lower loss and stays closer to the zero-loss line.",
        "fig1/smaller-decay-lower",
        "fig1/floor",
    ),
    stated("Section 3.1", "A smaller λ takes longer to generalise.", "fig1/smaller-decay-later"),
    stated(
        "Section 3.1, Interpretation",
        "In the first phase the model learns (0, 2).",
        "fig1/first-to-the-memorising-point",
    ),
    stated(
        "Section 3.1, Interpretation; caption of Figure 1",
        "The second phase is entirely driven by weight decay, which minimises the norm.",
        "fig1/driven-by-weight-decay",
        "fig1/flow-equals-closed-form",
    ),
    stated("Section 3.1, Interpretation", "It eventually reaches (1, 1).", "fig1/ends-at-ones"),
    stated(
        "Caption of Figure 1",
        "All three runs quickly achieve zero loss, and keep it in the second phase.",
        "fig1/zero-loss-as-printed",
        "fig1/floor",
    ),
    stated(
        "Section 3.2",
        "After memorisation learning does not lower the norm in some way: it follows the direction that lowers it best "
        "on the zero-loss set.",
        "thm4.9/optimal-direction",
    ),
    stated(
        "Section 3.2, Figure 2",
        "With three weights, from all four starts the model first converges to the zero-loss plane.",
        "fig2/first-to-the-plane",
        "fig2/closed-form",
    ),
    stated(
        "Section 3.2, Figure 2",
        "Then it moves directly towards the solution of least norm.",
        "fig2/straight-on-the-plane",
        "fig2/two-phases",
        "fig2/slow-rate",
    ),
    stated("Section 3.2", "It slowly reaches (1, 1, 1).", "fig2/reaches-ones"),
    stated(
        "Section 3.3, Figure 3 (left)",
        "The zero-loss set may be curved: paths reach it, stay on it and slide to its least norm.",
        "fig3/first-to-the-set",
        "fig3/lands-where-the-flow-does",
        "fig3/stays-on-the-set",
        "fig3/norm-falls",
        "fig3/ends-at-least-norm",
        "fig3/difference-of-squares",
    ),
    stated(
        "Section 3.3, Figure 3 (center)",
        "The zero-loss set may have a singular point, of a two-layer linear network at (0, 0).",
        "fig3/slides-into-the-singularity",
        "thm4.13/no-singular-points",
    ),
    stated(
        "Section 3.3",
        "Singular points are a null set: the probability of meeting one in training is zero.",
        "fig3/null-set-as-printed",
        "fig3/null-set-while-memorising",
        "fig3/slides-into-the-singularity",
    ),
    stated(
        "Section 3.3",
        "The points at which a ReLU network is not smooth are a null set, too.",
        "fig3/kinks-are-a-null-set",
        "fig3/kinks-are-passed",
    ),
    stated(
        "Section 3.3, Figure 3 (right)",
        "A single layer of leaky ReLU groks addition along a zero-loss set with kinks.",
        "fig3/ends-at-least-norm",
        "fig3/kink-after-finite-time",
    ),
)

THEORY = (
    stated(
        "Section 4.1, Equations 1 to 3",
        "The loss is a sum of squares over k samples of a network, with λ|θ|² added.",
        because="a definition",
    ),
    stated("Definitions 4.1 and 4.2", "The zero-loss set and its singular points.", because="definitions"),
    stated("Assumption 4.3", "The network has d ≥ km parameters.", "thm5.1/overparametrised"),
    stated("Assumption 4.4", "The zero-loss set is not empty: perfect memorisation.", "fig4/zero-train-error"),
    stated("Assumption 4.5", "Gradient descent is modelled as gradient flow.", "fig1/flow-is-the-limit"),
    stated(
        "Assumption 4.6",
        "Weight decay is so small that only its limit matters.",
        "thm4.9/order-lambda",
        "thm4.9/share-of-order-lambda",
    ),
    stated(
        "Assumption 4.7",
        "The trajectory does not pass through singular points.",
        "fig3/null-set-while-memorising",
        "fig3/null-set-as-printed",
    ),
    stated(
        "Definitions 4.8 and 4.12",
        "The distance to the zero-loss set is an infimum, reached at the projection.",
        "thm4.13/distances-are-distances",
    ),
    stated(
        "Theorem 4.9",
        "From a point of zero loss, for small enough λ, the trajectory never leaves the ε-neighbourhood of the set.",
        "thm4.9/stability",
        "thm4.9/order-lambda",
    ),
    stated("Definitions 4.10 and 4.11", "Available directions and the tangent space.", because="definitions"),
    stated(
        "Theorem 4.13, Equation 6",
        "Near a set without singular points the cosine of the loss gradient with any tangent direction is below C "
        "times the distance.",
        "thm4.13/orthogonal-at-rate-dist",
        "thm4.13/one-constant",
        "thm4.13/no-singular-points",
    ),
    stated(
        "Remark 4.14",
        "Near the set the loss gradient moves nothing: it keeps the model there, and weight decay drives it.",
        "thm4.9/loss-moves-nothing",
        "thm4.9/share-of-order-lambda",
        "thm4.9/optimal-direction",
    ),
    stated(
        "Section 5.2, Equations 7 to 9",
        "If a trajectory never meets the same θ1 twice, θ2 is a function of θ1 along it.",
        because="a definition of the function by the trajectory",
    ),
    stated(
        "Section 5.3, Equation 10",
        "Taking θ2 at its best treats it as the fast component and θ1 as the slow one.",
        "joint-vs-isolated/limit-of-a-fast-second-layer",
        "joint-vs-isolated/not-the-limit-of-small-weight-decay",
        "thm5.1/follows-the-flow-of-the-cost",
    ),
    stated(
        "Section 5.3, Equation 11",
        "Optimising under this approximation is to optimise R(θ1) = min L_λ(θ1, θ2).",
        "joint-vs-isolated/same-objective",
        "thm5.1/envelope-by-differences",
    ),
    stated(
        "Theorem 5.1, Equation 12",
        "Then the dynamics of θ1 is the gradient flow of R.",
        "thm5.1/envelope",
        "thm5.1/envelope-by-differences",
        "thm5.1/follows-the-flow-of-the-cost",
    ),
    stated("Section 6.1, Equations 13 and 14", "The loss of a two-layer network.", because="a definition"),
    stated(
        "Section 6.2, Equations 15 and 16",
        "The best second layer is the ridge regression (HᵀH + λI)⁻¹HᵀY.",
        "thm5.1/ridge-optimum",
    ),
    stated("Section 6.2, Equation 17", "The cost R is L_λ at that layer, and differentiable.", "thm5.1/envelope"),
    stated(
        "Section 6.2, Equation 18",
        "The first layer moves about as -∇R.",
        "thm5.1/velocity-as-printed",
        "thm5.1/velocity-with-a-fast-second-layer",
        "joint-vs-isolated/same-time-as-printed",
        "joint-vs-isolated/three-times-too-early",
    ),
    stated(
        "Section 6.3, Equation 19",
        "In the limit λ → 0 the second layer is (HᵀH)⁻¹HᵀY, the pseudo-inverse applied to Y.",
        "thm5.1/equation-19-as-printed",
        "thm5.1/second-layer-in-the-limit",
    ),
    stated(
        "Section 6.3",
        "If H has full column rank, the pseudo-inverse is Hᵀ(HHᵀ)⁻¹.",
        "fig4/column-rank-as-printed",
        "fig4/row-rank",
    ),
    stated(
        "Section 6.3, Equation 20",
        "In the limit the cost is λ|W1|² + λ tr(Yᵀ(HHᵀ)⁻¹Y).",
        "thm5.1/cost-in-the-limit",
        "thm5.1/cost-is-off-by-order-lambda",
    ),
    stated("Section 6.3, Equation 21", "The dynamics in closed form.", "fig4/equation-21"),
)

SIMULATION = (
    stated(
        "Sections 1 and 7",
        "The approximations reproduce the delayed generalisation of standard training.",
        "joint-vs-isolated/same-end",
        "fig4/perfect",
    ),
    stated(
        "Sections 1, 7 and 7.3",
        "They reproduce its circular representations.",
        "joint-vs-isolated/norms-equalise-in-both",
        "joint-vs-isolated/orthogonal-in-both",
        "joint-vs-isolated/frequencies-separate-in-both",
        "joint-vs-isolated/own-units-in-both",
    ),
    stated("Sections 7.1 and 7.2", "Data set, network and test accuracy.", because="definitions"),
    stated("Section 7.3", "The embedding starts from N(0, p^-1/2).", "fig4/either-start"),
    stated(
        "Section 7.3",
        "The second layer guarantees zero loss and perfect accuracy on the training data throughout.",
        "fig4/zero-train-error",
    ),
    stated(
        "Section 7.3",
        "A network fitted by squares and read by its largest output performs well on a classification task.",
        "fig4/perfect",
    ),
    stated(
        "Section 7.3",
        "The embedding is updated by Euler steps of Equation 21 with η = 1e-3.",
        "fig4/first-step-overshoots",
        "fig4/flow-is-earlier",
    ),
    stated("Figure 4 (top left)", "Training loss is exactly zero throughout.", "fig4/zero-train-error"),
    stated(
        "Section 7.4.1",
        "Test accuracy is not better than guessing for the first 500 steps.",
        "fig4/chance-for-500-steps",
    ),
    stated("Caption of Figure 4", "Generalisation emerges after about 1000 steps.", "fig4/emerges-around-1000"),
    stated(
        "Section 7.4.1",
        "The network generalises perfectly after about 2000 steps.",
        "fig4/perfect",
        "fig4/perfect-after-2000",
    ),
    stated(
        "Section 7.4.2",
        "In the plane of Re F_k and Im F_k the embeddings lie on a circle.",
        "fig4/embeddings-on-circles",
    ),
    stated(
        "Section 7.4.2",
        "They appear on it in the order 0, k, 2k, … modulo p.",
        "fig4/order-as-printed",
        "fig4/order-by-the-inverse",
    ),
    stated(
        "Section 7.4.2, Figure 4 (top right)",
        "The norms of real and imaginary parts equalise: circles of one size with perfect aspect ratios.",
        "fig4/norms-equalise",
    ),
    stated(
        "Section 7.4.2, Figure 4 (bottom left)",
        "Real and imaginary parts become orthogonal: circles in orthogonal planes.",
        "fig4/orthogonal",
        "fig4/orthogonal-from-chance",
    ),
    stated(
        "Section 7.4.2, Figure 4 (bottom right)",
        "Absolute values are very similar for the same frequency.",
        "fig4/same-frequency-as-printed",
        "fig4/same-frequency-is-chance",
        "fig4/more-alike-within-a-frequency",
    ),
    stated(
        "Section 7.4.2, Figure 4 (bottom right)",
        "They are very different for different frequencies.",
        "fig4/frequencies-separate",
        "fig4/more-alike-within-a-frequency",
    ),
    stated("Section 7.4.2", "Each circle leverages hidden units of its own.", "fig4/own-units"),
    stated("Section 8", "Cross-entropy and deeper networks are left open.", because="an outlook"),
)

PROOFS = (
    stated(
        "Appendix A, Lemma A.1",
        "Gradient flow never raises L_λ, so that the loss stays below λ|θ(0)|².",
        "thm4.9/descent",
        "thm4.9/loss-bound",
        "thm4.9/loss-of-order-lambda-squared",
    ),
    stated(
        "Appendix A, proof of Theorem 4.9",
        "The trajectory never reaches a norm above |θ(0)|.",
        "thm4.9/norm-never-above-the-start",
    ),
    stated(
        "Lemma B.1",
        "At a regular point of zero loss the tangent space is the null space of the Hessian.",
        "thm4.13/null-space-has-the-dimension",
        "thm4.13/null-directions-are-available",
        "thm4.13/other-directions-leave-the-set",
    ),
    stated(
        "Appendix B, proof of Lemma B.1",
        "The manifold is there because km ≥ d.",
        "thm5.1/more-outputs-than-parameters-as-printed",
        "thm5.1/overparametrised",
    ),
    stated(
        "Theorem B.2",
        "For every v with ∇F v = 0 a smooth trajectory through the point stays on the level set (named the inverse "
        "function theorem: it is the implicit one).",
        "thm4.13/null-directions-are-available",
    ),
    stated(
        "Proposition B.4",
        "What leads from the projection to the point is normal to the set.",
        "thm4.13/displacement-is-normal",
    ),
    stated(
        "Appendix B, proof of Theorem 4.13",
        "On unit normals the Hessian is bounded below by a positive λ_inf.",
        "thm4.13/normal-curvature-is-positive",
    ),
    stated(
        "Appendix B, proof of Theorem 4.13",
        "C = 2 M_sup/λ_inf and x0 = min(a_inf, λ_inf/(2 M_sup)) will do.",
        "thm4.13/constant-of-the-proof",
    ),
    stated(
        "Appendix C",
        "∇R = -2λW1 + 2λXᵀ[(AYYᵀAH) ⊙ σ'(XW1)].",
        "fig4/appendix-c-as-printed",
        "fig4/equation-21",
    ),
)

STATEMENTS: tuple[Statement, ...] = (*TOYS, *THEORY, *SIMULATION, *PROOFS)
