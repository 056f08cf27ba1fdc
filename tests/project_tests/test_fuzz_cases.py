"""Every mutant that once broke something is judged again, and some new ones of every kind."""

import functools
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tiers import fast_first

from tests.fuzz.judging import JudgingProcess, judged
from tests.fuzz.targets import TARGETS
from tests.fuzz.verdicts import Judgement, Mismatch, Verdict, table

CASES = Path(__file__).parents[1] / "fuzz" / "cases"
COUNTS = 3, 20, 60  # mutants of a kind, those of a smaller number among them
SLOW = ("commands-d3715c1e854e", "arms-276a7128d57e", "systems-66237c0e729e")  # a sweep, two solves
FOUND = [(target, path) for target in TARGETS for path in sorted((CASES / target.name).glob("*"))]
NAMES = [f"{target.name}-{path.stem}" for target, path in FOUND]
KNOWN = [
    pytest.param(*found, id=name, marks=[pytest.mark.long] * (name in SLOW))
    for found, name in zip(FOUND, NAMES, strict=True)
]


@pytest.fixture(params=TARGETS, ids=lambda target: target.name)
def target(request):
    prepare(request.param)
    return request.param


@functools.cache  # a fixture of the module would do so again wherever tests of two targets take turns
def prepare(target):
    target.prepare()


@pytest.mark.parametrize(("target", "path"), KNOWN, indirect=["target"])
def test_what_once_broke_holds(target, path):
    judgement = judged(target, path.read_bytes())
    assert not judgement.verdict.is_fault, judgement.detail


@fast_first("count", COUNTS, 1, 1)
def test_new_mutants_end_in_a_typed_error_or_a_right_answer(target, count):
    rng = np.random.default_rng(7)
    for _ in range(count):
        data = target.mutant(rng)
        judgement = judged(target, data)
        assert not judgement.verdict.is_fault, (data[:2000], judgement.detail)


class Planted:
    """A target that does what its data say."""

    name, suffix = "planted", ".txt"

    def prepare(self):
        pass

    def mutant(self, rng):
        return b"wrong"

    def check(self, data):
        if data == b"wrong":
            raise Mismatch("2 is not 3")
        if data == b"raw":
            raise KeyError("x")
        if data == b"dies":
            raise SystemExit


@pytest.mark.parametrize(
    ("data", "verdict"),
    [(b"", Verdict.RIGHT), (b"wrong", Verdict.WRONG), (b"raw", Verdict.RAW), (b"dies", Verdict.HUNG)],
)
def test_planted_faults_are_found(data, verdict):
    process = JudgingProcess(Planted())
    try:
        assert process.judge(data).verdict is verdict
        assert process.judge(b"").verdict is Verdict.RIGHT  # a process that died is replaced
    finally:
        process.close()


def test_counts_are_printed_by_target_and_in_all():
    text = table({"urdf": Counter({Verdict.TYPED: 3, Verdict.RAW: 1}), "json": Counter({Verdict.RIGHT: 2})})
    assert text.splitlines()[0].split() == [
        "target",
        "tried",
        "typed",
        "right",
        "raw",
        "hung",
        "silently",
        "wrong",
    ]
    assert text.splitlines()[-1].split() == ["all", "6", "3", "2", "1", "0", "0"]
    assert not Judgement(Verdict.TYPED).verdict.is_fault
