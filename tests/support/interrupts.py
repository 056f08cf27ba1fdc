"""Ctrl-C for processes that tests start."""

import signal


def hears_ctrl_c():
    """`preexec_fn` of a process that SIGINT is sent to.

    Where a shell runs the tests in the background they ignore SIGINT, and so would their children.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
