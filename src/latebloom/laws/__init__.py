"""Laws of many runs: exponents with intervals, censored runs treated as such, and rivals compared."""

from latebloom.laws.fitting import fit
from latebloom.laws.intervals import Resampled
from latebloom.laws.law import Fit
from latebloom.laws.maximum import NoMaximumError
from latebloom.laws.observations import Counts
from latebloom.laws.rivalry import Rival

__all__ = ["Counts", "Fit", "NoMaximumError", "Resampled", "Rival", "fit"]
