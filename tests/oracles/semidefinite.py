"""The shift of least growth, from a general solver of semidefinite programmes."""

import cvxpy
import numpy as np
import torch

from smore.stability._shift import _Family, shifted_system


def best_shift_sdp(bias, linear, slices, radius):
    """The same as `best_shift`."""
    family = _Family.of(linear, slices)
    dim = len(family.constant)
    shift, level = cvxpy.Variable(dim), cvxpy.Variable()
    added = cvxpy.reshape(family.directions.flatten(1).T.numpy() @ shift, (dim, dim), order="C")
    below = level * np.eye(dim) - family.constant.numpy() - added >> 0
    problem = cvxpy.Problem(cvxpy.Minimize(level), [below, cvxpy.norm(shift) <= radius])
    problem.solve(solver=cvxpy.CLARABEL)
    return shifted_system(bias, linear, slices, torch.from_numpy(shift.value))
