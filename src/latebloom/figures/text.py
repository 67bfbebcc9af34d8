"""What figures say: labels as they are set in a picture, and in plain words beside it.

>>> words(r"$\\beta$ = 2e-06, $|\\hat a - a^*|_\\infty/(\\alpha\\beta)$")
'β = 2e-06, |â - a^*|_∞/(αβ)'
>>> print(typeset("λ = 2.0e-06, N = 30"))
$\\lambda$ = $2\\cdot10^{-6}$, $N$ = 30
"""

from __future__ import annotations

import re

_GREEK = {
    **{"α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "varepsilon", "ζ": "zeta", "η": "eta", "θ": "theta"},
    **{"κ": "kappa", "λ": "lambda", "μ": "mu", "ν": "nu", "ξ": "xi", "ρ": "rho", "σ": "sigma", "τ": "tau"},
    **{"φ": "varphi", "ψ": "psi", "χ": "chi", "ω": "omega"},
}
_POWER = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)e([+-]?\d+)(?!\w)")
_SMALL = re.compile(r"(?<![\w.,])0\.00\d{1,6}(?![\w.])")  # 0.0003 beside 3e-05 in one legend
_SYMBOL = re.compile(r"\b([A-Za-z])(\d?)(?=(?: ?= ?(?:[-$\d]|[a-z]\d)| ∈ ))")  # the N of "N = 30", the n1 of "n1 = n2"
_SIGNS = {
    **{"alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "varepsilon": "ε", "zeta": "ζ"},
    **{"eta": "η", "theta": "θ", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "rho": "ρ", "sigma": "σ"},
    **{"tau": "τ", "phi": "φ", "varphi": "φ", "Phi": "Φ", "Delta": "Δ", "Sigma": "Σ", "nabla": "∇", "infty": "∞"},
    **{"leq": "≤", "le": "≤", "geq": "≥", "ge": "≥", "approx": "≈", "neq": "≠", "propto": "∝", "in": "∈", "to": "→"},
    **{"cdot": "·", "times": "x", "circ": "∘", "pm": "±", "sqrt": "√", "partial": "∂", "ell": "l", "top": "T"},
    **{"langle": "⟨", "rangle": "⟩", "perp": "⊥", "dots": "…", "prime": "'", "star": "*", "quad": " "},
}


def typeset(label: str) -> str:
    """A label for Matplotlib: symbols in italics and numbers as powers of ten, also where no dollars say so."""
    parts = _SMALL.sub(lambda match: f"{float(match[0]):.9e}", label).split("$")
    parts[1::2] = [_POWER.sub(_power, part) for part in parts[1::2]]
    parts[::2] = [_outside(part) for part in parts[::2]]
    return "$".join(parts)


def in_two(label: str) -> str:
    """A label broken at the space next to its middle that is in no formula; as it is if it has none."""
    spaces = [place for place, sign in enumerate(label) if sign == " " and label[:place].count("$") % 2 == 0]
    if not spaces:
        return label
    place = min(spaces, key=lambda place: abs(place - len(label) / 2))
    return f"{label[:place]}\n{label[place + 1 :]}"


def _power(match: re.Match[str]) -> str:
    """`2.0e-06` as a formula."""
    size, factor = int(match[2]), f"{float(match[1]):g}"
    return f"10^{{{size}}}" if factor == "1" else rf"{factor}\cdot10^{{{size}}}"


def _outside(text: str) -> str:
    """The part of a label that is no formula."""
    text = _POWER.sub(lambda match: f"${_power(match)}$", text)
    pieces = re.sub(f"[{''.join(_GREEK)}]", lambda match: rf"$\{_GREEK[match[0]]}$", text).split("$")
    pieces[::2] = [re.sub(r"\b[a-z]_[a-z]\b", r"$\g<0>$", _SYMBOL.sub(_italic, piece)) for piece in pieces[::2]]
    return "$".join(pieces)


def _italic(match: re.Match[str]) -> str:
    return f"${match[1]}_{match[2]}$" if match[2] else f"${match[1]}$"


def words(label: str) -> str:
    """A label without its markup: Greek letters and signs as such, braces and dollars gone."""
    text = label.replace("\n", " ").replace("$", "").replace(r"\|", "‖").replace(r"\%", "%")
    text = re.sub(r"\\(?:mathrm|mathbf|mathcal|text|operatorname|tilde|bar)\b\s*", "", text)
    text = re.sub(r"\\hat\b\s*\{?(\w)\}?", "\\1\u0302", text).replace("a\u0302", "â")
    text = re.sub(r"\\(?:left|right|!)", "", re.sub(r"\\[,; ]", " ", text))
    text = re.sub(r"\\([A-Za-z]+)", lambda match: _SIGNS.get(match[1], match[1]), text)
    return re.sub(r"\s+", " ", re.sub(r"[{}]", "", text)).strip()
