"""Judges mutants in a child process, which is ended where it hangs, dies or takes too much memory."""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import os
import resource
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from dynamics.errors import DynamicsError
from tests.fuzz.verdicts import Judgement, Mismatch, Told, Verdict
from trajopt.base.errors import TrajoptError

SECONDS = 20.0  # of the processor that a mutant may take; those that are solved take less than one
LONGEST_WAIT = 1800.0  # seconds for one that waits and does not compute; a busy machine may stop processes
MEMORY = 3 << 30  # bytes of address space that a judging process may add to what it has
TYPED = (TrajoptError, DynamicsError, Told)


class Target(Protocol):
    """A kind of input: makes mutants of it as bytes, and checks one."""

    name: str
    suffix: str  # of the files of cases

    def prepare(self) -> None:
        """Prepare once, before processes are made."""

    def mutant(self, rng: np.random.Generator) -> bytes: ...

    def check(self, data: bytes) -> None:
        """Use the input as a user would: returns where the answer is right, raises `Mismatch` where not."""


def judged(target: Target, data: bytes) -> Judgement:
    """The judgement of one mutant in this process; a message that no terminal can print is a fault."""
    found = _judged(target, data)
    try:
        found.detail.encode().decode()
    except UnicodeError as error:
        return Judgement(Verdict.RAW, f"the message is no text: {error}")
    return found


def _judged(target: Target, data: bytes) -> Judgement:
    quiet = io.StringIO()
    try:
        with (
            warnings.catch_warnings(),
            np.errstate(all="ignore"),
            contextlib.redirect_stdout(quiet),
            contextlib.redirect_stderr(quiet),
            tempfile.TemporaryDirectory() as folder,
            _inside(folder),
        ):
            warnings.simplefilter("ignore")
            target.check(data)
    except Mismatch as error:
        return Judgement(Verdict.WRONG, str(error))
    except TYPED as error:
        long = len(str(error)) > 4000
        return Judgement(Verdict.RAW if long else Verdict.TYPED, str(error)[:300])
    except Exception:
        return Judgement(Verdict.RAW, traceback.format_exc()[-1500:])
    return Judgement(Verdict.RIGHT)


@contextlib.contextmanager
def _inside(folder: str) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


class JudgingProcess:
    """A child process that judges mutants of one target, replaced where it does not answer."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._process: Any = None
        self._pipe: Any = None

    def judge(self, data: bytes) -> Judgement:
        """The judgement of one mutant; a process that does not answer in time has hung."""
        if self._process is None:
            self._start()
        try:
            self._pipe.send_bytes(data)
            if self._answers():
                return self._pipe.recv()
            detail = f"no answer within {SECONDS} s"
        except (EOFError, OSError):
            detail = "the process died"
        self.close()
        return Judgement(Verdict.HUNG, detail)

    def _answers(self) -> bool:
        """True if an answer comes before the time of the processor, or of the longest wait, is used up."""
        spent, end = self._processor_time(), time.monotonic() + LONGEST_WAIT
        while not self._pipe.poll(1.0):
            if self._processor_time() - spent > SECONDS or time.monotonic() > end:
                return self._pipe.poll()
        return True

    def _processor_time(self) -> float:
        """Seconds that the child has computed; infinity where it has ended."""
        try:
            told = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return np.inf
        user, system = told.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._pipe.close()
            self._process = None

    def _start(self) -> None:
        context = multiprocessing.get_context("fork")  # kernels are compiled in the parent
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(self.target, theirs), daemon=True)
        self._process.start()
        theirs.close()


def _serve(target: Target, pipe: Any) -> None:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    used = pages * resource.getpagesize()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # libraries in C++ write there
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    while True:
        try:
            data = pipe.recv_bytes()
        except EOFError:
            return
        pipe.send(judged(target, data))
