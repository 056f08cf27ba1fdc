"""Tables and arrays of measurements, what is refused, and splines fitted to positions."""

import numpy as np
import pytest
from identified_arms import harmonic_motion, measured, planar_arm

import dynamics
from problems import identification
from problems.identification.fitted_curve import fitted_motion
from trajopt.base.errors import NotFiniteError, OptionError, ShapeError, UnknownNameError

NAMES = "shoulder", "elbow"


def table(tmp_path, head="t [s],q elbow [rad],q shoulder,tau shoulder [N m],tau elbow,note", rows=None):
    if rows is None:
        rows = [f"{k / 100},{k},{10 * k},{100 * k},{1000 * k},7" for k in range(30)]
    path = tmp_path / "data.csv"
    path.write_text("\n".join([head, *rows]) + "\n")
    return path


def test_columns_are_found_by_name_in_any_order(tmp_path):
    found = identification.read_measurements(table(tmp_path), NAMES)
    assert found.rate == pytest.approx(100.0)
    assert found.duration == pytest.approx(0.29)
    np.testing.assert_array_equal(found.q[3], [30.0, 3.0])
    np.testing.assert_array_equal(found.tau[3], [300.0, 3000.0])
    assert repr(found) == "Measurements of 2 joints, 30 samples in 0.29 s"


def test_a_table_without_times_needs_a_rate(tmp_path):
    path = table(tmp_path, "q elbow,q shoulder,tau shoulder,tau elbow", ["1,2,3,4"] * 30)
    assert identification.read_measurements(path, NAMES, rate=250.0).rate == 250.0
    with pytest.raises(OptionError, match=r"has no column 't': give rate=, the samples per second"):
        identification.read_measurements(path, NAMES)


def test_what_a_table_may_not_hold(tmp_path):
    head, row = "t,q shoulder,q elbow,tau shoulder,tau elbow", "{},1,2,3,4"
    rows = [row.format(k / 100) for k in range(30)]

    def read(lines, head=head, **options):
        return identification.read_measurements(table(tmp_path, head, lines), NAMES, **options)

    with pytest.raises(UnknownNameError, match=r"no column 'tau elbow' \(did you mean .*tau elbo.*\?\)"):
        read(rows, head.replace("tau elbow", "tau elbo"))
    with pytest.raises(UnknownNameError, match="2 columns 'q elbow'"):
        read([f"{line},5" for line in rows], head + ",q elbow")
    with pytest.raises(NotFiniteError, match="line 5 holds nan: leave out what was not measured"):
        read([*rows[:3], "0.03,nan,2,3,4", *rows[4:]])
    with pytest.raises(OptionError, match="line 4 holds 'off': give numbers"):
        read([*rows[:2], "0.02,off,2,3,4", *rows[3:]])
    with pytest.raises(ShapeError, match="line 3 has 2 values: expected 5"):
        read([rows[0], "0.01,3", *rows[2:]])
    with pytest.raises(
        OptionError, match=r"times in .* are not even: 0\.02 s after sample 9, 0\.01 s elsewhere"
    ):
        read([*rows[:10], *rows[11:]])
    with pytest.raises(OptionError, match="do not increase"):
        read([row.format(0)] * 30)
    with pytest.raises(OptionError, match=r"rate is 125 Hz, the times in .* have 100 Hz"):
        read(rows, rate=125.0)
    with pytest.raises(ShapeError, match="5 samples are too few: give at least 20"):
        read(rows[:5])
    with pytest.raises(ShapeError, match="has 1 lines: expected names of columns"):
        read([])


def test_what_arrays_may_not_be():
    good = np.zeros((30, 2))
    with pytest.raises(ShapeError, match=r"tau has shape \(29, 2\): give \(30, 2\), a row per sample"):
        identification.measurements(NAMES, good, good[1:], 100.0)
    with pytest.raises(NotFiniteError, match="q"):
        identification.measurements(NAMES, np.nan * good, good, 100.0)
    with pytest.raises(OptionError, match="rate"):
        identification.measurements(NAMES, good, good, 0.0)


def test_fitted_accelerations_converge_with_order_four():
    """A least-squares spline of degree 5 has derivatives of order two with an error of order h^4."""
    q, _, a = harmonic_motion(2, seed=3)
    data = identification.measurements(NAMES, q, q, 200.0)
    errors = []
    for bandwidth in (2.5, 5.0, 10.0):
        fit = fitted_motion(data, bandwidth)
        left = (len(q) - len(fit.a)) // 2
        errors.append(np.abs(fit.a - a[left : len(a) - left]).max())
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    assert np.all(orders > 3.5)


@pytest.mark.parametrize(("noise", "error"), [(1e-5, 0.05), (1e-3, 1.0)])
def test_cross_validation_chooses_knots_that_suit_the_noise(noise, error):
    model = planar_arm()
    data = measured(model, 4, position_noise=noise)
    fit = fitted_motion(data)
    exact = harmonic_motion(2, 4)[2]
    left = (len(exact) - len(fit.a)) // 2
    assert np.sqrt(np.mean((fit.a - exact[left : len(exact) - left]) ** 2)) < error
    assert fit.residual == pytest.approx(noise, rel=0.1)


def test_a_bandwidth_beyond_the_samples_is_refused():
    data = measured(planar_arm(), 1)
    with pytest.raises(OptionError, match=r"bandwidth is 90 Hz, but samples at 200 Hz show at most 33\.3 Hz"):
        fitted_motion(data, 90.0)


def test_a_motion_written_as_csv_is_read_again(tmp_path):
    model = planar_arm()
    q, v, a = harmonic_motion(2, 1)
    tau = dynamics.rnea(model, q, v, a)
    lines = ["t [s],q shoulder [rad],q elbow [rad],tau shoulder [N m],tau elbow [N m]"]
    lines += [",".join(map(repr, map(float, [k / 200, *q[k], *tau[k]]))) for k in range(len(q))]
    path = tmp_path / "motion.csv"
    path.write_text("\n".join(lines))
    found = identification.read_measurements(path, model.joint_names)
    np.testing.assert_array_equal(found.tau, tau)
