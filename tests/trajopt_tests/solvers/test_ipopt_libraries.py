"""Two libraries of IPOPT, CasADi's and cyipopt's: which is taken, and what happens where one is missing."""

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from small_nlps import hs071

import trajopt
from problems import two_link_rr
from trajopt.base.errors import OptionError
from trajopt.solvers import ipopt as bundled_ipopt
from trajopt.solvers.ipopt import Ipopt, _library, _option_table


@pytest.fixture
def no_casadis(monkeypatch):
    monkeypatch.setattr(bundled_ipopt, "NAMES", ("absent.so",))
    clear_caches()
    yield
    clear_caches()


@pytest.fixture
def cyipopt():
    return pytest.importorskip("cyipopt")


@pytest.fixture
def no_cyipopt(monkeypatch):
    monkeypatch.setitem(sys.modules, "cyipopt", None)


def clear_caches():
    bundled_ipopt.library.cache_clear()
    _option_table.cache_clear()


def test_both_reach_the_same_optimum_in_one_process(cyipopt):
    ours, theirs = (Ipopt(library=name).solve(hs071()) for name in ("casadi", "cyipopt"))
    assert ours.converged and theirs.converged
    np.testing.assert_allclose(ours.y, theirs.y, rtol=1e-7)


def test_casadis_is_the_default_and_cyipopt_is_never_loaded_for_it(no_cyipopt):
    assert _library(None) is _library("casadi") is bundled_ipopt
    assert Ipopt.version().endswith("of casadi")
    assert Ipopt(options={"mu_init": 1e-2}).solve(hs071()).converged


def test_without_casadis_cyipopt_is_used(no_casadis, cyipopt):
    assert _library(None) is cyipopt
    assert "of cyipopt" in Ipopt.version()
    with pytest.raises(OptionError, match=r"library = 'casadi': no library of IPOPT lies in CasADi's folder"):
        Ipopt(library="casadi").solve(hs071())


def test_a_library_that_cannot_be_loaded_is_as_good_as_none(monkeypatch, tmp_path, cyipopt):
    broken = tmp_path / "libipopt.so"
    broken.write_bytes(b"no library")
    monkeypatch.setattr(bundled_ipopt, "NAMES", (str(broken),))
    clear_caches()
    assert _library(None) is cyipopt
    clear_caches()


def test_a_missing_cyipopt_that_was_asked_for_is_named(no_cyipopt):
    with pytest.raises(OptionError, match=r"library = 'cyipopt': .*; pip install"):
        Ipopt(library="cyipopt").solve(hs071())


def test_without_any_ipopt_the_error_says_what_to_install(no_casadis, no_cyipopt):
    with pytest.raises(
        ImportError, match=r"lies in CasADi's folder.*pip install cyipopt-wheels, or use traj"
    ):
        Ipopt().solve(hs071())


@pytest.mark.parametrize("name", ["ipopt", "CasADi", 3, True, ["casadi"], np.array(["casadi"])])
def test_another_library_is_refused(name):
    with pytest.raises(OptionError, match=r"library = .*: expected 'casadi' or 'cyipopt' or None"):
        Ipopt(library=name)


@pytest.mark.long
def test_solves_in_threads_are_bit_for_bit_those_one_after_the_other():
    """IPOPT computes outside of Python's lock, so that two solves are inside the library at once."""
    ends = [(1.0, 0.1 * k) for k in range(8)]

    def solved(end):
        return Ipopt(library="casadi").solve(trajopt.transcribe(two_link_rr.build(q_end=end))).y

    one_by_one = [solved(end) for end in ends]
    with ThreadPoolExecutor(4) as threads:
        side_by_side = list(threads.map(solved, ends))
    for first, second in zip(one_by_one, side_by_side, strict=True):
        np.testing.assert_array_equal(first, second)
