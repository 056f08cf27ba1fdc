"""`trajopt solve --certify TOL`: the certificate on screen, in a file and in the summary."""

import json

import pytest
from click.testing import CliRunner

from problems.cli.command_line import main


def run(*arguments):
    return CliRunner().invoke(main, list(arguments))


@pytest.mark.long
def test_a_certified_solve_writes_its_certificate(tmp_path):
    done = run("solve", "sliding_mass", "--certify", "1e-6", "--out", str(tmp_path))
    assert done.exit_code == 0, done.output
    page, _, _ = (tmp_path / "certificate.txt").read_text().rpartition("\nrun ")
    assert page.startswith("certificate: proved (switching arcs") and page.strip() in done.output
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["certificate"]["verdict"] == "proved" and not summary["certificate"]["failing"]
    assert summary["certificate"]["holds"] and summary["certificate"]["switches"] == 1
    assert abs(summary["duration"] - 0.4) < 1e-9
    again = run("verify", str(tmp_path / "solution.npz"), "--verbose")
    assert again.exit_code == 0 and page.splitlines()[0] in again.output
    assert "recomputed\n" in again.output.split("certificate:")[0]


def test_without_the_option_there_is_no_certificate(tmp_path):
    assert run("solve", "sliding_mass", "--out", str(tmp_path)).exit_code == 0
    assert not (tmp_path / "certificate.txt").exists()
    assert "certificate" not in json.loads((tmp_path / "summary.json").read_text())


def test_an_impossible_tolerance_is_misuse(tmp_path):
    done = run("solve", "sliding_mass", "--certify", "-1", "--out", str(tmp_path))
    assert done.exit_code == 2 and "expected a finite number above 0" in done.output


def test_a_certificate_that_does_not_hold_is_exit_status_one(tmp_path, monkeypatch):
    from trajopt.certificates.certificate import Certificate

    monkeypatch.setattr(Certificate, "holds", False)
    done = run("solve", "sliding_mass", "--certify", "1e-6", "--out", str(tmp_path))
    assert done.exit_code == 1 and "the certificate does not hold" in done.output


@pytest.mark.long
def test_a_solve_keeps_a_checkpoint_and_refuses_that_of_another_problem(tmp_path):
    kept = ["--checkpoint", str(tmp_path / "kept"), "--out", str(tmp_path / "out")]
    assert run("solve", "sliding_mass", *kept).exit_code == 0 and (tmp_path / "kept").exists()
    assert run("solve", "sliding_mass", *kept).exit_code == 0
    other = run("solve", "sliding_mass", "--set", "mass=3", *kept)
    assert other.exit_code == 2 and "checkpoint of another problem" in other.output
