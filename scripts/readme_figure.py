"""The picture of the README: the minimum-time motion of the two-link arm, its torques and its joint forces.

python scripts/readme_figure.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.image import imsave

import problems
import trajopt

TARGET = Path(__file__).parent.parent / "docs" / "figures" / "two_link_rr.png"
DOTS_PER_INCH = 130
GAP = 40  # pixels between the motion and the curves


def main() -> None:
    solution = trajopt.solve(problems.two_link_rr.build(), refine=trajopt.Certified(tol=1e-6))
    curves = stacked([pixels(trajopt.plot.torques(solution)), pixels(trajopt.plot.joint_forces(solution))])
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    imsave(TARGET, beside(pixels(trajopt.plot.motion(solution)), curves))


def pixels(figure: Figure) -> np.ndarray:
    """A figure as (height, width, 4) numbers."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure.set_dpi(DOTS_PER_INCH)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())


def stacked(images: list[np.ndarray]) -> np.ndarray:
    """Images one below the other, narrower ones filled up with white."""
    width = max(image.shape[1] for image in images)
    return np.concatenate([padded(image, image.shape[0], width) for image in images])


def beside(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    height = max(left.shape[0], right.shape[0])
    gap = padded(left, height, left.shape[1] + GAP)
    return np.concatenate([gap, padded(right, height, right.shape[1])], axis=1)


def padded(image: np.ndarray, height: int, width: int) -> np.ndarray:
    grown = np.full((height, width, 4), 255, dtype=np.uint8)
    grown[: image.shape[0], : image.shape[1]] = image
    return grown


if __name__ == "__main__":
    main()
