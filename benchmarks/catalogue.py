"""All commands that pages and the first lines of benchmarks and scripts name."""

from __future__ import annotations

from benchmarks.shared.commands import Command

PINOCCHIO, MUJOCO, CASADI, TOPPRA = ("pinocchio",), ("mujoco",), ("casadi",), ("toppra",)
LEGGED = ("motion", "status", "iterations", "solve, s", "verify, s", "force", "moment", "slip, mm")
REPORT = ("runs", "criteria", "predicted stride")
REPORT_OF_THESIS = (
    "runs", "criteria", "identities", "finer", "ablations", "backpack", "strides", "constraints",
)  # fmt: skip

BENCHMARKS = (
    Command(
        "adapters",
        columns=("dynamics by", "iterations", "times the seconds"),
        writes=("own_dynamics.md#benchmarks.adapters",),
        full="--write",
    ),
    Command("assembly", columns=("problem", "nodes", "Hessian", "together"), writes=("assembly.md",)),
    Command("attacks", "--share 0.001 edited", ("attack", "tried", "right", "refused", "silently wrong")),
    Command(
        "certified",
        columns=("problem", "duration [s]", "switches", "certified s", "why no structure"),
        writes=("certified.md#optima", "certified.md#brackets", "certified.md#diagnosis"),
    ),
    Command("certified --diagnosis", "--diagnosis", ("The two-link arm asked to arrive within 0.3 s",)),
    Command("certified --rows NAME", "--smallest --rows 0.4", ("sliding_mass (0.4 s exactly)",)),
    Command("certified --coverage --rows NAME", "--smallest --coverage --rows 0.4", ("sliding_mass",)),
    Command("check", columns=("rnea, serial 7, by Pinocchio",), needs=PINOCCHIO),
    Command(
        "default_moves",
        "--moves 1 --robots ur5",
        ("arm", "converged", "DOP853, rad", "ms"),
        needs=("robots",),
    ),
    Command(
        "dynamics",
        columns=("20-joint chain and 64 nodes unless said", "measured", "must", "aim"),
        writes=("benchmarks.md", "benchmarks.json", "figures/growth_*.png"),
        needs=PINOCCHIO,
    ),
    Command("dynamics.floating", columns=("robot", "ours, µs", "Pinocchio, µs", "ratio"), needs=PINOCCHIO),
    Command(
        "dynamics.robot_files FOLDER",
        "{own robots}",
        (".urdf:", "files", "that the peer loads", "that agree", "largest difference"),
        needs=(*PINOCCHIO, *MUJOCO),
    ),
    Command("dynamics.startup", "", ("numba itself", "every function once", "another robot")),
    Command("identification", columns=("ours, 52 base parameters: condition number",)),
    Command(
        "library",
        columns=("problem", "reference", "ours", "relative error", "rows"),
        writes=("library.md",),
    ),
    Command("legged", columns=LEGGED),
    Command("legged --peer PYTHON", "--smallest --peer {peer python}", ("motion", "by", "solve, s")),
    Command("legged --replay", "--smallest --replay", ("motion", "base, mm", "joints, rad"), needs=MUJOCO),
    Command("legged --robots FOLDER", "--smallest --robots {robots}", LEGGED),
    Command("legged --starts", "--smallest --starts", ("motion", "start", "status", "objective")),
    Command("legged.free_body", columns=("degrees", "arcs x intervals x points", "degrees off")),
    Command(
        "legged.motions --go2 FILE --g1 FILE --h1 FILE",
        "--smallest",
        ("motion", "robot", "status", "deepest foot, mm", "torques differ, N m"),
        ("howto/contacts.md#benchmarks.legged.motions",),
        full="--write",
        needs=MUJOCO,
    ),
    Command("legged.peer", "", ('"motion"', '"converged"', '"slip"'), needs=("crocoddyl",)),
    Command(
        "many",
        "--smallest --write",
        ("solver", "moves", "not converged", "per core and second"),
        ("many.md#benchmarks.many points", "many.md#benchmarks.many moves"),
        full="--write",
        needs=("casadi", "distributed"),
    ),
    Command(
        "motionbenchmaker FOLDER",
        "--smallest",
        ("problems", "bad ends", "solved", "proved", "duration s"),
        needs=("coal",),
    ),
    Command(
        "pose_to_pose", "--smallest", ("pairs", "torques hold", "converged", "seconds"), needs=("ruckig",)
    ),
    Command("optimum_errors", columns=("problem", "intervals", "a third of them", "twice as many")),
    Command(
        "papers",
        columns=("", "N = 5", "N = 10", "N = 15"),
        writes=("papers.md", "figures/papers_*.png"),
        needs=CASADI,
    ),
    Command(
        "planted_violations",
        "--smallest --write",
        ("planted", "proved", "holds, sampled", "DOES NOT HOLD", "passed by verify"),
        ("planted_violations.md",),
        full="2000 --write",
    ),
    Command(
        "published",
        "--smallest --write",
        ("problem", "CPU s", "difference", "estimate", "found"),
        ("published.md#benchmarks.published",),
        full="--write",
    ),
    Command(
        "receding_horizon",
        "cart-pole --smallest",
        ("plant", "delay", "falls", "limits exceeded", "held", "ms, median"),
        needs=MUJOCO,
    ),
    Command("receding_horizon.c_code", columns=("plan", "both new", "gap", "C, µs", "Python, ms")),
    Command("retime", columns=("median", "largest"), needs=TOPPRA),
    Command("retime --jerk", "--smallest --jerk", ("processor seconds", "limits proved", "intervals")),
    Command(
        "robustness",
        columns=("set", "start", "solves", "not converged", "mean CPU s"),
        writes=("robustness.md", "robustness.json"),
    ),
    Command("robustness --quick", "--smallest --quick", ("set", "start", "solves", "largest s")),
    Command("shared.peers NAME INTERVALS REPEATS", "casadi 4 1", ('"objective"', '"seconds"'), needs=CASADI),
    Command(
        "solvers.interior",
        "--smallest --write",
        ("problems", "solves", "not converged", "taken over", "ratio"),
        ("solving_again.md#benchmarks.solvers.interior",),
        full="--pairs 6 --largest 700 --write",
    ),
    Command("solvers.effort", columns=("method", "intervals", "relative error", "ms")),
    Command("solvers.intervals", columns=("intervals", "unknowns", "transcription, s", "objective")),
    Command("solvers.ipopt_libraries", "sliding_mass", ("problem", "cyipopt's", "ratio"), needs=("cyipopt",)),
    Command("solvers.mpc", columns=("method", "ms, median", "worst", "sum of costs"), needs=CASADI),
    Command("solvers.rayleigh", columns=("size", "method", "ms", "of fatrop's", "objective"), needs=CASADI),
    Command(
        "solvers.replan",
        "--smallest --write",
        ("case", "method", "ms, median", "same optimum", "failed"),
        ("solving_again.md#benchmarks.solvers.replan",),
        full="--write",
        needs=CASADI,
    ),
    Command("solvers.rounds", "sliding_mass", ("problem", "all rows", "rounds", "rows of the rounds")),
    Command(
        "solvers.stages",
        "--smallest --write",
        ("processor ms", "two-link arm"),
        ("solving_again.md#benchmarks.solvers.stages",),
        full="--write",
        needs=CASADI,
    ),
    Command(
        "systems",
        columns=("intervals", "points", "error, ours", "by hand", "CPU ms, ours"),
        writes=("systems_measured.md#comparison", "systems_measured.md#gallery"),
        needs=CASADI,
    ),
    Command(
        "running runs",
        "runs --smallest",
        ("the trial, 4 m/s",),
        ("running.md#runs", "figures/run_*.png"),
        needs=("measured runs",),
    ),
    Command(
        "running crossing",
        "crossing --smallest",
        ("walk: objective", "run: flight (s)", "ends"),
        ("running.md#crossing",),
    ),
    Command("running.solved_run", None),
    Command(
        "gait.report",
        columns=("criterion", "wanted", "one walk"),
        writes=tuple(f"gait.md#{name}" for name in REPORT),
    ),
    Command(
        "gait.report --cost thesis",
        "--smallest --cost thesis",
        ("criterion", "wanted", "one walk"),
        tuple(f"gait_thesis.md#{name}" for name in REPORT_OF_THESIS),
    ),
    Command("gait.solved_walk", columns=("objective", "iterations")),
    Command("tables", "", ("table", "commit", "date", "machine", "files")),
    Command("tasks", columns=("arm", "lines", "first solve, s", "all hold", "T, s")),
    Command("tasks --robots FOLDER", "--smallest --robots {robots}", ("arm", "lines", "T, s")),
    Command(
        "tasks --first-hessian", "--smallest --first-hessian", ("to the first Hessian", "unknowns", "rows")
    ),
    Command(
        "time_to_accuracy",
        columns=("method", "intervals", "relative error", "order", "seconds"),
        writes=("time_to_accuracy.md", "time_to_accuracy.json", "figures/time_to_accuracy.png"),
        needs=CASADI,
    ),
    Command("transcription", columns=("iterations", "ms", "objective", "violation")),
    Command("trend", "", ("row", "runs", "first", "before", "newest", "change")),
)
GAIT = tuple(
    Command(
        f"gait {part}",
        f"{part} --smallest",
        columns,
        (f"gait_benchmark.json#{part}", *(f"gait.md#{mark}" for mark in marks), *figures),
    )
    for part, columns, marks, figures in (
        ("run", ("part", "in all", "share"), (), ()),
        ("starts", ("start", "outcome", "iterations"), (), ()),
        ("sweep", ("0.6 m",), (), ("figures/gait_sweep.png",)),
        ("between", ("gait", "without", "with", "limit nodes"), (), ()),
        ("points", ("variables", "outcome", "mean correlation"), (), ("figures/gait_points.png",)),
        ("casadi", ("ours", "CasADi", "ratio"), (), ()),
        ("predicted", ("walk", "five of Winter", "CPU s"), ("scoreboard predicted",), ()),
        ("predicted_speeds", ("speed, step length", "ends"), ("scoreboard predicted_speeds",), ()),
        ("predicted_lengths", ("speed", "people (m)"), ("scoreboard predicted_lengths",), ()),
        ("slopes", ("slope", "people's", "iterations"), ("scoreboard slopes",), ()),
        ("impossible", ("asked for", "ends", "CPU s"), ("scoreboard impossible",), ()),
        ("weights", ("fitted to", "power", "steadiness"), ("scoreboard weights",), ()),
    )
)
SCRIPTS = (
    Command("architecture.py", "", ("files",)),
    Command("architecture_picture.py", "x.svg", (), ("figures/architecture.svg",)),
    Command("code_counts.py", "", ("lines",)),
    Command("convergence.py", "", ("intervals", "T [s]", "order", "iterations")),
    Command("files_of_a_term.py", "", ("together:", "files")),
    Command("kernel_wheel.py", None),
    Command("notebooks.py", "", ("notebooks in",)),
    Command("readme_figure.py", "x.png", (), ("figures/two_link_rr.png",)),
    Command("receding_horizon.py", "", ("plans, one every 20 ms",)),
    Command("solve_problem.py two_link_rr", "sliding_mass", ("optimal on this mesh",)),
    Command("solve_trace.py", "", ("solve:", "files", "functions", "stops")),
    Command("two_link_pr_variants.py", "", ("reading", "T [s]", "largest |f|", "status")),
)
COMMANDS = (*BENCHMARKS, *GAIT, *SCRIPTS)
