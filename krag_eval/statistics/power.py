"""How large a difference must be for so many queries to show it."""

from __future__ import annotations

import math

from krag_eval.columns import FloatArray


def resolvable_difference(differences: FloatArray, confidence: float, power: float = 0.8) -> float | None:
    """The smallest true mean difference that a two-sided paired test on so many queries finds with this power.

        d = nc * sd / sqrt(n),   P(T' > t) = power for T' noncentral t with n - 1 degrees of freedom and noncentrality
        nc, and t the (1 + confidence) / 2 quantile of Student's t

    For 50 queries and more about (1.96 + 0.84) sd / sqrt(n) at 0.95 and 0.8: four times the queries halve it.

    Args:
        differences: The paired differences, finite; shape (n,).
        confidence: 1 - alpha of the test.
        power: How often a difference of this size is to be found.

    Returns:
        The difference, or None where there are fewer than two queries or no two of them differ: nothing then says how
        much queries scatter.

    Source: Cohen (1988), Statistical Power Analysis for the Behavioral Sciences, 2.2 and 12.2; for retrieval, Webber,
    Moffat & Zobel (2008), CIKM, doi:10.1145/1458082.1458158.
    """
    from scipy.special import nctdtrinc, stdtrit

    n = len(differences)
    if n < 2:
        return None
    # fsum, for numpy's order of addition depends on the processor.
    mean = math.fsum(differences.tolist()) / n
    variance = math.fsum(((differences - mean) ** 2).tolist()) / (n - 1)
    if not variance:
        return None
    critical = stdtrit(n - 1, (1 + confidence) / 2)
    return float(nctdtrinc(n - 1, 1 - power, critical)) * math.sqrt(variance / n)
