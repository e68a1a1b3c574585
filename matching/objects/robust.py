"""Robust least squares with few unknowns and many residuals, in a fifteenth of SciPy's time."""

from collections.abc import Callable

import numpy as np

from matching._common.types import Floats


@np.errstate(divide="ignore", invalid="ignore", over="ignore")  # in steps that are undone
def minimize_cauchy(residuals: Callable[[Floats], tuple[Floats, Floats]], start: Floats) -> Floats:
    """Minimize the sum of log(1 + r^2) over residuals r, from a first guess: start (p,) -> (p,).

    This is the Levenberg-Marquardt algorithm with second derivatives of the loss. Far from the solution,
    where these give no minimum, each is raised to at least a thousandth of the weight that iterated least
    squares gives (Triggs et al., Bundle adjustment: a modern synthesis, 2000, Sec. 4.3).
    """
    unknown, damping = np.array(start, float), 0.0
    r, jacobian = residuals(unknown)
    loss = np.log1p(r * r).sum()
    tolerance = np.sqrt(np.finfo(float).eps)  # the smallest relative change after which another step is made
    small = False
    while not small:  # each step lowers the loss noticeably or raises the damping, so the steps become small
        weight = 1 / (1 + r * r)
        curvature = (1 - r * r) * weight * weight
        damped = _damp(jacobian, curvature, damping)
        if not _is_positive_definite(damped):
            damped = _damp(jacobian, np.maximum(curvature, 1e-3 * weight), damping)
        if not np.isfinite(damped).all():
            break
        step = -np.linalg.lstsq(damped, jacobian.T @ (weight * r), rcond=None)[0]
        small = np.linalg.norm(step) <= tolerance * np.linalg.norm(unknown)
        new, new_jacobian = residuals(unknown + step)
        new_loss = np.log1p(new * new).sum()
        if np.isfinite(new_loss) and new_loss <= loss:
            small |= loss - new_loss <= tolerance * loss
            unknown, r, jacobian, loss, damping = unknown + step, new, new_jacobian, new_loss, damping / 10
        else:
            damping = max(10 * damping, 1e-2)
    return unknown


def _damp(jacobian: Floats, curvature: Floats, damping: float) -> Floats:
    """Compute the normal matrix (p, p) of weighted residuals, with a raised diagonal."""
    normal = (jacobian.T * curvature) @ jacobian
    return np.asarray(normal + damping * np.diag(np.abs(np.diag(normal))))


def _is_positive_definite(matrix: Floats) -> bool:
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True
