"""Statements on networks: modular addition, teacher and student, images."""

from latebloom.catalog.statements import Statement, stated


def each_of(figures: str, *claims: str) -> list[str]:
    """The same claims of several figures: `each_of("31 32", "late-drop")`."""
    return [f"fig{figure}/{claim}" for figure in figures.split() for claim in claims]


STUDENTS = "10 31 32 33"

STATEMENTS: tuple[Statement, ...] = (
    stated(
        "Abstract; Section 1, contribution (iv)",
        "l1 and the nuclear norm can replace l2 in networks, and a small strength of either makes them grok.",
        "fig1/all-grok",
        *each_of(STUDENTS, "memorises-first", "larger-strength-is-earlier"),
        "fig35/others-are-similar",
    ),
    stated(
        "Abstract; Section 1, contribution (iv)",
        "Grokking of networks cannot be explained by the l2 norm: it is no reliable proxy for generalisation.",
        "fig1/l2-norm-increases",
        "rescaling/same-function",
        "rescaling/any-norm-generalises-alike",
        "rescaling/near-any-start",
        "rescaling/rescalings-stay-away",
    ),
    stated(
        "Section 1",
        "Without l2 regularisation the l2 norm of a network tends to grow in training, yet the model generalises.",
        "fig1/l2-norm-grows",
        "fig10/l2-norm-grows",
        "fig10/l2-norm-falls",
        "fig33/l2-norm-grows",
        "fig33/l2-norm-falls",
    ),
    stated(
        "Section 1",
        "Without l2 regularisation the l2 norm tends to grow after generalisation, too.",
        "fig1/l2-norm-increases",
        partly="measured in modular addition; the students' runs record no norms between start and end",
    ),
    stated(
        "Section 1",
        "The belief that the l2 norm always indicates grokking is challenged (the blog post: a shell of good norms).",
        "rescaling/norm-by-formula",
        "rescaling/least-where-the-formula-says",
        "rescaling/least-value",
        "rescaling/shell-as-printed",
        "rescaling/losses-are-l-and-u",
        "rescaling/too-small-underfits",
        "rescaling/u-shape-along-a-ray",
        "rescaling/decay-balances",
        "rescaling/imbalance-law",
        "rescaling/free-stays-unbalanced",
    ),
    stated(
        "Section 1",
        "Regularisation induces grokking in non-linear teachers and students, on algorithmic data and on images.",
        "fig10/slower-without",
        "plain-descent/nothing-without",
        "blog-fig1/penalty-drives",
        "blog-fig1/penalty-completes",
        "fig35/penalty-drives",
    ),
    stated(
        "Section 1, contribution (v)",
        "Domain-specific regularisers strongly affect the delay between memorisation and generalisation.",
        *each_of("11 34", "larger-strength-is-earlier"),
        "fig11/slower-without",
    ),
    stated(
        "Section 2.1",
        "An MLP with one embedding, on addition modulo 97 with 40 % of the pairs to train on, memorises and groks.",
        "blog-fig1/memorises",
        "blog-fig1/generalises",
        "blog-fig1/overfits-as-printed",
        "blog-fig1/mirrored-pairs-leak",
        "blog-fig1/two-embeddings-overfit",
        "blog-fig1/two-embeddings-grok",
        "blog-fig1/drops-frequencies",
        "fig1/memorises-first",
        "fig1/late",
    ),
    stated(
        "Section 2.1, Figure 1 (top)", "l1 and the nuclear norm have the effect of l2 on grokking.", "fig1/all-grok"
    ),
    stated("Caption of Figure 1", "Smaller values of β delay generalisation.", "fig1/smaller-is-later"),
    stated(
        "Section 2.1",
        "For all three penalties a smaller αβ makes the delay longer.",
        "fig1/smaller-is-later",
        *each_of("2 30", "larger-strength-is-earlier", "larger-rate-is-earlier"),
    ),
    stated(
        "Section 2.1, Figure 1 (bottom middle)",
        "Without weight decay the l2 norm is not monotonic after memorisation, and even increases without harm.",
        "fig1/l2-norm-increases",
        "fig1/l2-norm-falls-first",
    ),
    stated(
        "Figure 1 (bottom left and right)",
        "The l1 and the nuclear norm along training under l1.",
        "fig1/l1-shrinks",
        "fig1/nuclear-shrinks",
    ),
    stated("Caption of Figure 2", "When α increases, the delay decreases.", "fig2/larger-rate-is-earlier"),
    stated(
        "Section 2.2, which refers to Figure 2",
        "If the late bias is aligned with generalisation, the grokking time is proportional to 1/(αβ).",
        "plain-descent/memorises-first",
        "plain-descent/proportional-l2",
        "plain-descent/proportional-l1",
        "plain-descent/one-constant",
        *each_of("2 30 31 32 33 34", "proportional-as-printed", "grows-slower"),
        "plain-descent/slower-under-adam",
        "plain-descent/adam-enlarges-the-push",
        "plain-descent/decay-apart-is-proportional",
        "plain-descent/decay-apart-has-the-constant",
        "plain-descent/no-division-is-proportional",
    ),
    stated("Section 2.2", "With β too large the training loss is never minimised (networks).", "fig1/collapse"),
    stated("Section 3.2", "Networks trained with l1, l2 and the nuclear norm differ in kind.", "fig1/networks-differ"),
    stated(
        "Section 4, Figures 10 and 31 to 33; H.3.2",
        "Under each penalty a smaller αβ makes the student's delay between memorisation and generalisation longer.",
        *each_of(STUDENTS, "larger-strength-is-earlier"),
        *each_of("31 32 33", "larger-rate-is-earlier"),
    ),
    stated(
        "Section 4, Figures 10 and 31 to 33; H.3.2",
        "The student memorises, and long after it comes a large drop of the test error, which is generalisation.",
        *each_of(STUDENTS, "memorises-first", "late-drop", "plateau"),
    ),
    stated(
        "Section 4, Figures 11 and 34; H.3.3",
        "In Sobolev training large αβ lead to faster grokking.",
        *each_of("11 34", "memorises-first", "larger-strength-is-earlier", "late-drop"),
        "fig34/larger-rate-is-earlier",
    ),
    stated(
        "Section 4, H.3.3",
        "Fitting the derivatives, too, makes a student that generalises.",
        *each_of("11 34", "generalises"),
    ),
    stated(
        "Section 4; H.3.1, Figures 2 and 30",
        "On the algorithmic data a smaller strength, and a smaller learning rate, delays generalisation.",
        *each_of("2 30", "larger-strength-is-earlier", "larger-rate-is-earlier"),
    ),
    stated(
        "Section 4; H.3.4, Figure 35",
        "The same on a two-layer ReLU network trained on 1,000 images of MNIST with l1.",
        "fig35/larger-strength-is-earlier",
        "fig35/larger-rate-is-earlier",
        "fig35/delayed-as-printed",
        "fig35/no-delay-from-the-usual-start",
        "fig35/delayed-from-a-large-start",
        "fig35/times",
        "fig35/slow-rise",
        partly="MNIST is not shipped: everyday runs are on 8x8 digits, a file of MNIST gives the printed setting",
    ),
    stated("H.3.4", "On images l2 and the nuclear norm give similar results.", "fig35/others-are-similar"),
    stated(
        "Section 5",
        "Large starts are not always feasible in practice, and grokking occurs without them.",
        "fig1/all-grok",
        "blog-fig1/two-embeddings-grok",
    ),
    stated(
        "Section 5",
        "Sparse and low-rank models take less memory and are easier to interpret.",
        because="a view on practice",
    ),
    stated(
        "Appendix A.1, Universality, Interpretability, Predictability, Accelerating",
        "What other works found on grokking.",
        because="results of other papers, cited",
    ),
    stated(
        "Appendix A.1, Large initialisation",
        "Grokking under l1 and the nuclear norm needs no large start (networks).",
        "fig1/all-grok",
        "fig1/memorises-first",
    ),
    stated(
        "Appendix A.1, Stochasticity",
        "Grokking needs no randomness in the optimisation: deterministic iterations grok.",
        "fig3/grokking",
        "plain-descent/proportional-l2",
    ),
    stated(
        "Appendix A.1, Sparsity and low-rankness",
        "It is conjectured that sparsity of a generalising network makes the algorithmic data grok.",
        because="a conjecture left for later; that l1 finds a sparse network is fig1/networks-differ",
    ),
    stated(
        "Appendix A.2",
        "Distillation, dictionaries, auto-encoders and coresets are related.",
        because="an outlook",
    ),
    stated(
        "Appendix A.3",
        "A large start cannot explain grokking on modular operations, where a standard one groks.",
        "fig1/all-grok",
        "fig1/memorises-first",
    ),
    stated("Appendix A.3", "Sparse recovery and factorisation over finite fields.", because="an outlook"),
    stated(
        "Appendix H.3",
        "The networks start from N(0, 1/rows) and are trained by Adam with its defaults but the learning rate.",
        because="a setting, which the entries use",
    ),
)
