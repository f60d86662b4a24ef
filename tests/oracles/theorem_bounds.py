"""The paper's Theorems 2 and 3 and the sensor lemma, transcribed with loops and nothing clever."""

import itertools
import math

import numpy as np


def decode(decoder, point, code):
    """u(x) of the filter network, layer by layer as the paper writes it, for one point."""
    hidden = None
    for layer in range(len(decoder.frequencies)):
        weights = decoder.frequencies[layer].detach().double().numpy() * decoder.filter_scale
        phase = weights @ point
        filters = np.concatenate([np.sin(phase), np.cos(phase)])
        linear = decoder.biases[layer].detach().double().numpy().copy()
        linear += decoder.modulations[layer].detach().double().numpy() @ code
        if hidden is not None:
            linear += decoder.weights[layer - 1].detach().double().numpy() @ hidden
        hidden = filters * linear
    output = decoder.output_weight.detach().double().numpy() @ hidden
    return float(output + decoder.output_bias.detach().double().numpy()[0])


def offset_and_modes(decoder, point):
    """c₀(x) = u(x; 0) and J₀(x)_i = u(x; e_i) - u(x; 0)."""
    offset = decode(decoder, point, np.zeros(decoder.latent_dim))
    modes = [decode(decoder, point, unit) - offset for unit in np.eye(decoder.latent_dim)]
    return offset, np.array(modes)


def jacobian(decoder, point, scale):
    """∂u/∂α at one point, (channels, r), with u in the user's units."""
    _, modes = offset_and_modes(decoder, point)
    matrix = np.zeros((len(scale), len(scale) * len(modes)))
    for channel in range(len(scale)):
        for index in range(len(modes)):
            matrix[channel, channel * len(modes) + index] = scale[channel] * modes[index]
    return matrix


def growth_offset(decoder, points, shift, scale):
    """max over points of ‖u(x; 0)‖."""
    largest = 0.0
    for point in points:
        offset, _ = offset_and_modes(decoder, point)
        field = [shift[k] + scale[k] * offset for k in range(len(scale))]
        largest = max(largest, math.sqrt(sum(value**2 for value in field)))
    return largest


def growth_slope(decoder, points, scale):
    """max over points of ‖∂u/∂α‖."""
    return max(np.linalg.norm(jacobian(decoder, point, scale), 2) for point in points)


def lipschitz(decoder, points, weights, scale):
    """λ_max(G)^½ with G = Σ w JᵀJ."""
    gram = 0.0
    for point, weight in zip(points, weights, strict=True):
        here = jacobian(decoder, point, scale)
        gram = gram + weight * here.T @ here
    return math.sqrt(np.linalg.eigvalsh(gram)[-1])


def field_bound(measure, offset, slope, centre_norm, radius):
    return measure**0.5 * (offset + slope * (centre_norm + radius))


def observability(decoder, points, num_channels):
    """σ_min of the sensor Jacobian (s c, r), by its definition over unit vectors."""
    rows = [jacobian(decoder, point, np.ones(num_channels)) for point in points]
    matrix = np.concatenate(rows)
    if matrix.shape[0] < matrix.shape[1]:
        return 0.0
    return np.linalg.svd(matrix, compute_uv=False)[-1]


def sparse_error(observability, representation_error, noise, gap):
    return (2 * (representation_error + noise) + gap) / observability


def error_bound(a, b_roll, e_sparse, decoder_error, lipschitz, n):
    """The right-hand side of sparse_to_rollout_bound_method."""
    total = 0.0
    for power in range(n):
        total += a**power
    return decoder_error + lipschitz * (a**n * e_sparse + b_roll * total)


def limiting_error(a, b_roll, decoder_error, lipschitz):
    return decoder_error + lipschitz * b_roll / (1 - a)


def growth(step, trajectories, perturbations):
    """Largest ‖Φ(α + δ) - Φ(α)‖ / ‖δ‖, one state and one perturbation at a time."""
    largest = 0.0
    for states in trajectories:
        for state in states[:-1]:
            for perturbation in perturbations:
                change = step((state + perturbation)[None]) - step(state[None])
                ratio = float(change.norm()) / float(perturbation.norm())
                largest = max(largest, ratio)
    return largest


def largest_defect(step, trajectories):
    largest = 0.0
    for states in trajectories:
        for now, after in itertools.pairwise(states):
            largest = max(largest, float((step(now[None])[0] - after).norm()))
    return largest
