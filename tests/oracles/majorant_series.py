"""Cauchy majorants of dx/dt = f + l x + q x², one coefficient at a time."""

from __future__ import annotations

from math import comb


def flow_coefficients(
    forcing: float, linear: float, quadratic: float, radius: float, count: int
) -> list[float]:
    """Taylor coefficients in h of the solution that starts at `radius`."""
    derivatives = [radius]
    for order in range(count - 1):
        slope = linear * derivatives[order]
        for k in range(order + 1):  # Leibniz
            slope += quadratic * comb(order, k) * derivatives[k] * derivatives[order - k]
        if order == 0:
            slope += forcing
        derivatives.append(slope)
    factorial, coefficients = 1.0, []
    for order, derivative in enumerate(derivatives):
        factorial *= max(order, 1)
        coefficients.append(derivative / factorial)
    return coefficients


def product(one: list[float], other: list[float]) -> list[float]:
    result = [0.0] * (len(one) + len(other) - 1)
    for i, a in enumerate(one):
        for j, b in enumerate(other):
            result[i + j] += a * b
    return result


def total(*polynomials: list[float]) -> list[float]:
    result = [0.0] * max(map(len, polynomials))
    for polynomial in polynomials:
        for power, coefficient in enumerate(polynomial):
            result[power] += coefficient
    return result


def step_coefficients(
    forcing: float, linear: float, quadratic: float, radius: float, stages, weights
) -> list[float]:
    """The Runge-Kutta step as a polynomial in h, every weight made positive."""
    slopes: list[list[float]] = []
    for row in stages:
        state = [radius]
        for weight, slope in zip(row, slopes, strict=True):
            state = total(state, [0.0] + [abs(weight) * c for c in slope])
        square = product(state, state)
        slopes.append(
            total([forcing], [linear * c for c in state], [quadratic * c for c in square])
        )
    result = [radius]
    for weight, slope in zip(weights, slopes, strict=True):
        result = total(result, [0.0] + [abs(weight) * c for c in slope])
    return result
