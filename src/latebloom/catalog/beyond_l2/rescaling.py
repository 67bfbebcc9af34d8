"""The blog post's argument against a shell of good weights: a rescaled network is the same function at any norm."""

from __future__ import annotations

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry, Study
from latebloom.catalog.beyond_l2.equal_functions import (
    ACTIVATIONS,
    RescalingSettings,
    balanced_factor,
    family,
    rescaled,
    slice_through,
    spheres,
    squares,
)
from latebloom.catalog.bounds import at_least, at_most, holds
from latebloom.catalog.controls import Instead, Set
from latebloom.catalog.measures import distance, flat
from latebloom.figures import Axis, Figure, Line, Panel, Rule, panels

DECAYED, FREE, NEAR = "weight decay", "no weight decay", "near a large start"
SOURCE = "Blog post, Goldilocks zone & LU mechanism"

rescaling = Entry(
    "beyond-l2/rescaling",
    "A rescaled network is the same function at any norm",
    "(λ A, B/λ^L) answers alike for every λ; its norm is least at λ0 and without bound: no Goldilocks shell.",
    source=SOURCE,
    seconds=10,
    settings=RescalingSettings(),
    notes=(
        "Networks B φ(A x) are drawn for L = 1, 2, 3: φ(z) = max(z, 0), z², max(z, 0)³. The trained one has L = 1, "
        "cross-entropy and float64.",
        "The blog post calls w(λ) the norm; it is the square of the norm.",
        "What rescaling shows: no norm above the least is special. Rescalings of one network do not come near a given "
        "large start (rescalings-stay-away); that there is a solution there is shown by one, found from that start "
        "with seven times as many images.",
        "Blog Figure 2's curves are the least training loss at each norm, and the test loss there: descent on spheres.",
    ),
    controls=(Set(power=1.5),),
)


@rescaling.runs
def rescaling_runs(s):
    problem = lb.problems.ImageClassifier(
        width=s.units, train=s.images, test=s.test_images, precision="float64", seed=s.seed
    )
    norms = (lb.probes.WeightNorm("l2", part) for part in (None, *problem.weights))
    chosen = {"probes": (*norms, lb.probes.TestLoss(), lb.probes.TestAccuracy()), "memorised_at": 1e-9}
    jobs = {
        name: lb.TrainJob(problem, lb.GradientDescent(s.learning_rate), lb.L2(decay), steps=s.steps, **chosen)
        for name, decay in ((DECAYED, s.weight_decay), (FREE, 0.0))
    }
    large = lb.problems.ImageClassifier(
        width=s.units, train=s.many_images, init_scale=s.start_scale, precision="float64", seed=s.seed
    )
    probes = [lb.probes.TestAccuracy()]
    return {**jobs, NEAR: lb.TrainJob(large, lb.GradientDescent(s.near_rate), steps=s.near_steps, probes=probes)}


@rescaling.studies
def rescaling_studies(s):
    told = {"norms": s.norms, "steps": s.sphere_steps, "units": s.units, "images": s.images, "seed": s.seed}
    problem = rescaling_runs(s)[FREE].problem
    return [Study("losses on spheres", told | {"test": s.test_images}, lambda: spheres(problem, s))]


def families(e):
    """The rescalings of a drawn network of every degree."""
    return [e.cached(family, e.settings, degree) for degree in ACTIVATIONS]


@rescaling.claim(at_most(1e-13), "largest change of an output over the largest output, over all points, λ and L,")
def same_function(e):
    """For all λ > 0, y_λ(x) = (B/λ^L) φ(λ A x) = y(x) for all x."""
    return max(found.changed for found in families(e))


@rescaling.claim(at_most(1e-13), "largest relative difference from the sum of squares of the rescaled matrices")
def norm_by_formula(e):
    """The (squared) norm of the parameters of y_λ is w(λ) = a λ² + b / λ^2L."""
    return max(float(np.max(np.abs(found.sizes / found.predicted - 1))) for found in families(e))


@rescaling.claim(
    holds("least norm found by search at λ0 to a relative {by:g}, and w falls before λ0 and rises after it", by=1e-6)
)
def least_where_the_formula_says(e, by):
    """w decreases from λ = 0 to λ0 = (L b / a)^(1/(2(L+1))), then increases."""
    factors = e.settings.lambdas

    def is_valley(found):
        slopes = np.diff(found.sizes)
        before, after = factors[1:] < found.predicted_best, factors[:-1] > found.predicted_best
        return bool(np.all(slopes[before] < 0) and np.all(slopes[after] > 0))

    gap = max(abs(found.best / found.predicted_best - 1) for found in families(e))
    return gap, gap <= by and all(is_valley(found) for found in families(e))


@rescaling.claim(at_most(1e-12), "relative difference from the least norm found by search")
def least_value(e):
    """w(λ0) = (L^(1/(L+1)) + L^(-L/(L+1))) (a^L b)^(1/(L+1))."""
    return max(abs(found.least / found.predicted_least - 1) for found in families(e))


def trained(e):
    """A and B at the end of the run without weight decay, with all training images right."""
    params = e[FREE].params
    return np.asarray(params["hidden"]), np.asarray(params["output"])


def rescalings(e):
    """The trained network with (λ A, B/λ)."""
    power, factors = e.settings.power, e.settings.lambdas[::5]
    return slice_through(e.problem(), [rescaled(*trained(e), factor, power) for factor in factors])


def scalings(e):
    """The trained network with (c A, c B): another function at every norm."""
    first, second = trained(e)
    return slice_through(e.problem(), [(c * first, c * second) for c in np.logspace(-1, 1, 41)])


@rescaling.claim(
    holds(
        "trained network, norms over a range of more than {spread:g}: no test image answered differently, test loss to "
        "{by:g}",
        spread=50,
        by=1e-10,
    )
)
def any_norm_generalises_alike(e, spread, by):
    """We can arbitrarily increase the norm of the parameters without changing generalisation."""
    found = rescalings(e)
    counts, losses = int(np.ptp(found.right)), float(np.ptp(found.test) / found.test[0])
    norms = float(found.norms.max() / found.norms.min())
    return [counts, losses, norms], counts == 0 and losses < by and norms > spread


@rescaling.claim(
    at_most(2),
    "largest over smallest norm of the equally good rescalings",
    source=f"{SOURCE}, Figure 2",
    fails="it is as large as one likes",
    control=Set(largest_factor=1.2),
)
def shell_as_printed(e):
    """Generalising solutions lie near a spherical shell in weight space (the view the blog post argues against)."""
    found = rescalings(e)
    norms = found.norms[found.right >= found.right.max()]
    return float(norms.max() / norms.min())


@rescaling.claim(
    holds(
        "along (c A, c B): test loss at both ends more than {times:g} times its least, training loss falls throughout",
        times=1.5,
    ),
    source="One ray through the trained network, measured",
    kind="ours",
)
def u_shape_along_a_ray(e, times):
    """Along a ray through the origin, too, the training loss falls and the test loss is U-shaped."""
    found = scalings(e)
    ends = [float(found.test[end] / found.test.min()) for end in (0, -1)]
    return ends, min(ends) > times and bool(np.all(np.diff(found.train) <= 0))


@rescaling.claim(
    holds(
        "on spheres: training loss falls with the norm, to below {low:g} of its value on the smallest; test loss on "
        "the smallest and the largest more than {times:g} times its least",
        low=0.1,
        times=2,
    ),
    source=f"{SOURCE}, Figure 2",
)
def losses_are_l_and_u(e, low, times):
    """The training loss is L-shaped and the test loss U-shaped as functions of the norm."""
    found = e.tables["losses on spheres"]
    train, test = found["train"], found["test"]
    ends = [float(test[end] / test.min()) for end in (0, -1)]
    falls = bool(np.all(np.diff(train) < 0)) and train[-1] < low * train[0]
    return [*ends, float(train[-1] / train[0])], falls and min(ends) > times


@rescaling.claim(
    holds(
        "on the smallest sphere at most {most:g} of the training images right; on the largest all of them, and fewer "
        "test images than on the best sphere",
        most=0.8,
    ),
    source=SOURCE,
)
def too_small_underfits(e, most):
    """A norm that is too small underfits, one that is too large overfits."""
    found, problem = e.tables["losses on spheres"], e.problem(FREE)
    fitted, right = found["fitted"] / len(problem.train_labels), found["right"] / len(problem.test_labels)
    shares = [float(fitted[0]), float(fitted[-1]), float(right[-1]), float(right.max())]
    return shares, shares[0] <= most and shares[1] == 1 and shares[2] < shares[3]


@rescaling.claim(
    holds(
        "a network at most {far:g} of the norm away from a start x 8, with test accuracy at least {least:g}",
        far=0.25,
        least=0.85,
    )
)
def near_any_start(e, far, least):
    """There are solutions that generalise close to the initialisation, however large that is."""
    moved = distance(flat(e[NEAR].params), flat(e.problem(NEAR).init()))
    found = [moved, e[NEAR].final["test_accuracy"]]
    return found, found[0] <= far and found[1] >= least


@rescaling.claim(
    at_least(0.5),
    "least distance of a rescaling from a start x 8, over the norm of that start,",
    source="The rescalings of one trained network, measured",
    kind="ours",
    control=Instead({FREE: NEAR}),
)
def rescalings_stay_away(e):
    """Rescaling alone does not find it: all rescalings of one network are most of a norm away."""
    start = e.problem(NEAR).init()
    starts = [np.asarray(start[name]) for name in ("hidden", "output")]
    gaps = [
        squares(*(mine - theirs for mine, theirs in zip(rescaled(*trained(e), factor, 1), starts, strict=True)))
        for factor in e.settings.lambdas
    ]
    return float(np.sqrt(min(gaps) / squares(*starts)))


def off_balance(e, name):
    """The distance of λ0 from 1, which it is if the norm of a trained network is the least among its rescalings."""
    final = e[name].final
    return abs(balanced_factor(final["l2_norm_of_hidden"] ** 2, final["l2_norm_of_output"] ** 2, 1) - 1)


def imbalance(e, name):
    """`a - b` along a run, and `(a - b)(0) (1 - αλ)^{2t}`."""
    s, run = e.settings, e[name]
    gap = run["l2_norm_of_hidden"] ** 2 - run["l2_norm_of_output"] ** 2
    decay = s.weight_decay if name == DECAYED else 0.0
    return gap, gap[0] * (1 - s.learning_rate * decay) ** (2 * run["step"])


@rescaling.claim(
    at_most(1e-3),
    "distance from 1 of λ0 of the network trained with weight decay",
    source="d(a - L b)/dt = -2λ (a - L b) under the flow",
    kind="ours",
)
def decay_balances(e):
    """Weight decay picks the rescaling of least norm, λ0 = 1."""
    return off_balance(e, DECAYED)


@rescaling.claim(
    at_most(0.02),
    "largest distance from the law over the start, with weight decay and without,",
    source="(a - b)(t) = (1 - αλ)^2t (a - b)(0), exact up to α² terms",
    kind="ours",
)
def imbalance_law(e):
    """Weight decay shrinks a - b at a known pace, and without it a - b stays."""
    both = [imbalance(e, name) for name in (DECAYED, FREE)]
    return max(float(np.max(np.abs(gap - law)) / abs(gap[0])) for gap, law in both)


@rescaling.claim(
    at_least(5e-3),
    "distance from 1 of λ0 of the network trained without weight decay",
    source="the same law with λ = 0",
    kind="ours",
    control=Instead({FREE: DECAYED}),
)
def free_stays_unbalanced(e):
    """Without weight decay the norm at the end is not the least."""
    return off_balance(e, FREE)


@rescaling.figure
def rescaling_figure(e):
    sizes, laws, balances = [], [], []
    theory = {"role": "theory", "width": 0.8}
    for place, found in enumerate(families(e)):
        label, shade = f"L = {found.degree}: {ACTIVATIONS[found.degree][0]}", panels.shade_of(place, len(ACTIVATIONS))
        sizes.append(Line(e.settings.lambdas, found.sizes, label, shade=shade, width=2.2, opacity=0.6))
        sizes.append(Line(e.settings.lambdas, found.predicted, name=f"{label}, formula", **theory))
        least = {"name": f"{label}, least by the formula", "size": 3}
        sizes.append(Line(found.predicted_best, found.predicted_least, "", "theory", "points", **least))
    for name, role in ((DECAYED, "norm"), (FREE, "grey")):
        run, (gap, law) = e[name], imbalance(e, name)
        laws.append(Line(run["step"], np.abs(gap), name, role, width=2.2, opacity=0.6))
        laws.append(Line(run["step"], np.abs(law), "law", name=f"{name}, law", **theory))
        balances.append(Line(run["step"], np.sqrt(run["l2_norm_of_output"] / run["l2_norm_of_hidden"]), name, role))
    level = Rule(1.0, across="y", width=0.8)
    size = Axis(r"$w(\lambda) = \|\lambda A\|^2 + \|B/\lambda^L\|^2$", "log")
    title = r"one function, any norm (dots: $\lambda_0$)"
    gap = Axis(r"$\left|\,\|A\|^2 - \|B\|^2\right|$", "log")
    return Figure(
        [
            [Panel(sizes, Axis(r"$\lambda$", "log"), size, title=title, legend="upper right"), goldilocks(e)],
            [
                Panel(laws, panels.STEPS, gap, legend="lower left"),
                Panel([*balances, level], panels.STEPS, Axis(r"$\lambda_0$ of the network"), legend="lower right"),
            ],
        ]
    )


def goldilocks(e):
    """Losses against the norm: on spheres and along a ray they are L and U, along the rescalings they are flat."""
    ray, same, run, traces = scalings(e), rescalings(e), e[FREE], []
    least = e.tables["losses on spheres"]
    order = np.argsort(same.norms)
    for part in ("train", "test"):
        traces.append(Line(ray.norms, getattr(ray, part), f"{part}, $(cA, cB)$", part))
        values, label = getattr(same, part)[order], rf"{part}, $(\lambda A, B/\lambda)$"
        traces.append(Line(same.norms[order], values, label, part, "beside", width=1.3))
        traces.append(Line(least["norms"], least[part], f"{part}, on spheres", part, "points", size=3))
    traces.append(Line(run["l2_norm_of_weights"], run["test_loss"], "test, along training", "grey", width=1.3))
    axes = Axis(r"norm of the weights $\|\theta\|_2$", "log"), Axis("cross-entropy", "log", low=1e-6, high=1e3)
    return Panel(traces, *axes, legend="upper center")
