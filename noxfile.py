"""Tasks of developers: `nox` lists them, `nox -s lint` runs one, words behind `--` go to its command.

Each has an environment of its own in `.nox`, which `nox -R` uses again; `pip install nox` first.
"""

import shutil

import nox

nox.options.sessions = []  # alone, nox lists the tasks
nox.options.reuse_existing_virtualenvs = True


@nox.session
def tests(session: nox.Session) -> None:
    """The fast tests, `nox -s tests -- tests/trajopt_tests/splines` those of a folder."""
    run_pytest(session)


@nox.session
def long(session: nox.Session) -> None:
    """The long tests, `nox -s long -- -m thorough` those that `.ci/run --full` alone runs."""
    run_pytest(session, "-m", "long")


@nox.session
def lint(session: nox.Session) -> None:
    """Rules and format of the code, by the version of ruff in pyproject.toml."""
    extra = nox.project.load_toml("pyproject.toml")["project"]["optional-dependencies"]["test"]
    session.install(*(name for name in extra if name.startswith("ruff")))
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """Types of the packages, `nox -s types -- --full` those that pyright alone checks, too."""
    install(session, "test")
    session.run("python", "scripts/check_types.py", *session.posargs)


@nox.session
def site(session: nox.Session) -> None:
    """The documentation site in build/site, `nox -s site -- --quick` without running its code."""
    install(session, "docs")
    session.run("python", "scripts/site.py", *session.posargs)


@nox.session
def benchmarks(session: nox.Session) -> None:
    """A benchmark by its module, `nox -s benchmarks -- solvers.stages`; without a name that of `dynamics`."""
    install(session, "test")
    module, *arguments = session.posargs or ["dynamics"]
    session.run("python", "-m", f"benchmarks.{module}", *arguments)


@nox.session
def release(session: nox.Session) -> None:
    """Wheels of all dependencies, then wheel and sdist in dist, checked: see docs/releasing.md."""
    session.install("build", "twine", "uv")
    session.run("python", "scripts/resolve.py")
    shutil.rmtree("dist", ignore_errors=True)
    session.run("python", "-m", "build", "--outdir", "dist")
    session.run("python", "-m", "twine", "check", "--strict", "dist/*")
    session.run("python", "scripts/check_wheel.py")


@nox.session(python=["3.11", "3.12", "3.13", "3.14"])
def kernels(session: nox.Session) -> None:
    """A wheel of compiled kernels in dist for each Python that is there: see docs/releasing.md."""
    session.install(".")
    session.run("python", "scripts/kernel_wheel.py")


def install(session: nox.Session, extra: str) -> None:
    session.install("-e", f".[{extra}]")


def run_pytest(session: nox.Session, *options: str) -> None:
    install(session, "test")
    session.run("pytest", "-n", "2", *options, *session.posargs)
