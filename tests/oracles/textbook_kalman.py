"""The Kalman filter and the Rauch-Tung-Striebel smoother as textbooks print them.

Covariances, inverses, the full gain; nothing clever. Good for small, well-conditioned systems.
"""

from __future__ import annotations

import numpy as np


def kalman_filter(mean, covariance, transitions, readings):
    """Filtered and predicted (mean, covariance) of every time, and the log likelihood.

    Args:
        mean, covariance: before the first readings.
        transitions: (F, c, Q) after each time but the last.
        readings: (H, y, R) of each time, or None.
    """
    filtered, predicted, likelihood = [], [], 0.0
    for number, reading in enumerate(readings):
        if number:
            F, c, Q = transitions[number - 1]
            mean, covariance = F @ mean + c, F @ covariance @ F.T + Q
        predicted.append((mean, covariance))
        if reading is not None:
            H, y, R = reading
            innovation = y - H @ mean
            S = H @ covariance @ H.T + R
            K = covariance @ H.T @ np.linalg.inv(S)
            likelihood -= 0.5 * (
                innovation @ np.linalg.inv(S) @ innovation
                + np.linalg.slogdet(S)[1]
                + len(y) * np.log(2 * np.pi)
            )
            mean = mean + K @ innovation
            covariance = (np.eye(len(mean)) - K @ H) @ covariance
        filtered.append((mean, covariance))
    return filtered, predicted, likelihood


def rts_smoother(filtered, predicted, transitions):
    """Smoothed (mean, covariance) of every time."""
    smoothed = [filtered[-1]]
    for number in range(len(filtered) - 2, -1, -1):
        mean, covariance = filtered[number]
        ahead_mean, ahead = predicted[number + 1]
        F = transitions[number][0]
        C = covariance @ F.T @ np.linalg.inv(ahead)
        later_mean, later = smoothed[0]
        smoothed.insert(
            0, (mean + C @ (later_mean - ahead_mean), covariance + C @ (later - ahead) @ C.T)
        )
    return smoothed
