"""Fuzzing: mutants of everything users hand in, each judged by an oracle that shares nothing with our code.

    python -m tests.fuzz --minutes 10

Every mutant must end in a typed error or in a right answer, within 20 seconds and 3 GB. What breaks is
kept as a file in `cases/`, which `tests/project_tests/test_fuzz_cases.py` judges again on every run.
"""
