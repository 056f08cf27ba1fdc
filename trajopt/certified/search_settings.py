"""Settings and thresholds of the search for a certified optimum, with the reasons for their values."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TypeAlias

from trajopt.base.arguments import check_count, check_positive
from trajopt.base.errors import OptionError
from trajopt.checks.optimality import SAMPLES_PER_SPAN, SIGNIFICANT_DENSITY
from trajopt.refinement.refinements import MARKED_SHARE, Refined
from trajopt.solution.solution import Answer
from trajopt.solvers.solver import RowTolerances
from trajopt.splines.basis import HIGHEST_DEGREE
from trajopt.splines.trajectory import SHORTEST_ARC

LOWEST_DEGREE = 4  # of an arc: three Gauss points, fewer cannot meet two end states of a joint

Share: TypeAlias = float  # part of a whole, between 0 and 1
Several: TypeAlias = int  # 1 or more
Degree: TypeAlias = int  # of an arc or a spline


class Thresholds:
    """Fixed thresholds of the certified search.

    They were found on the library's problems. "Range" is the upper minus the lower bound of a limit;
    times "in knot intervals" count the spans of the spline that a structure is read from, so that a mesh
    which is fine at the switches is read as finely. A "free" joint is one whose motion the time-optimal
    structure does not determine on some arc.

    Effort of the search
        search_share : part of a time limit for switching structures, or for knots where equations are
            missed between nodes; the rest is for adding nodes
        least_held : of the time of all joints together, which limits that arcs hold determine: with
            less no solve on arcs is tried, of which few have converged (six axes at full speed have 0.28)
        coarse_program : unknowns plus rows on arcs above which a structure waits for knots that are fine at
            the switches
        attempt_iterations : iterations on arcs that one structure and its corrections may take
    Meshes that structures are read from
        mesh_total : iterations of one mesh, counted as on arcs, after which it is not refined further
        marked_share : spans are halved whose indicator is above this part of the largest
        quartered_share : the same for spans cut in four: six axes find their structure on 87 spans instead of
            82, after four meshes instead of seven
        samples_per_span : times per span at which the indicator is averaged
        significant_density : multipliers per second below this part of the largest are taken as zero
        small_gain : gain by finer knots, relative to the objective, below which switches are well located
    Detection of active intervals (`structure_detection`)
        convexity : smallest to largest eigenvalue of the integrand's Hessian above which controls are
            continuous; second differences leave 1e-12
        multiplier_floor : of the objective; a problem's largest multiplier is not taken smaller than this
        significant_multiplier : of the largest; an interior-point solve leaves 1e-9 on an inactive limit
        longest_switch : knot intervals between two bangs that one switch may take; longer is an arc between
        longest_gap : knot intervals between active nodes of one bang arc
        clear_gap : knot intervals between two active intervals that are kept apart
        half_node_spacing : knot intervals by which an active interval reaches beyond its outermost node
        end_reach : knot intervals to the motion's ends within which an arc of continuous controls reaches
            them
        boundary_margin : of the range; how near q or v is to its bound on a boundary arc
        fine_boundary_margin : the same on meshes that are fine at the switches
        shortest_boundary_arc : knot intervals; shorter contact with a bound is a touch point
        merged_switches : knot intervals between switches of several joints that start as one switch
        samples_per_interval : times per knot interval at which q and v are compared with their bounds
    Correction after a solve on arcs (`structure_correction`)
        collapsed : of the duration; a shorter arc was no switching interval and is removed
        collapsed_unconverged : the same after a solve that did not converge
        short_arc : of the duration; an arc that may be removed where a solve does not converge
        most_short_arcs : how many such arcs may be removed in one attempt; more is guessing
        idle : of the largest impulse; a saturated limit with a smaller one is released
        active : of the objective; an inactive limit with a larger multiplier refutes the structure
        contradicted : of the largest impulse over an arc; smaller wrong signs are rounding
        contradicted_free : the same where joints are free: their effort term shifts multipliers by its weight
        samples_per_arc : times per arc at which a violated limit's interval is located
        snapped : of an arc; a corrected interval that ends so near to the arc's end is extended to it
    Solves on arcs (`arc_problem`)
        free_degree : first degree where joints are free: the effort term makes their motion smooth
        shortest_arc : of the duration; lower bound of an arc's duration while its structure is tested
        continuity_tolerance : of rows, the solver's `constr_viol_tol`. On arcs of milliseconds continuity
            rows are scaled by large slopes: at the solver's default, velocities jumped by 1e-6 between arcs
        acceptable_tolerance : of rows, complementarity and KKT error, for the solver's acceptable point
        acceptable_iterations : iterations at that tolerance after which the solver stops
        least_barrier : of an interior-point solver. At IPOPT's own floor of 1e-11 distant limits of a free
            joint changed its accelerations by 1e-6, as its effort has little weight
        optimal : recomputed stationarity below which an acceptable point counts as converged where its rows
            hold to `acceptable_tolerance`; the first-order gain of what is left is of second order
        effort_weight : of the objective; first weight of the effort of free joints
        effort_weight_factor : by which that weight falls while it stands against confirmation
        least_effort_weight : below it the solver no longer resolves the effort
        unresolved : of the range; a larger violation of a limit that an arc holds means that the arc is too
            coarse for its multipliers to be read
        most_arcs : parts of arcs that were cut included; beyond it limits are tightened instead
    Confirmation of a structure (`structure_attempt`)
        wrong_structure : of the range; a larger violation between Gauss points means another structure, a
            smaller one a higher degree or a margin
        wrong_structure_free : the same where joints are free: their limits are inequalities and may be
            tightened
        objective_change : relative change of the objective by half the effort weight that is allowed
        objective_tolerance : by how much, relatively, arcs may be worse than the spline they were read from;
            meshes for bang-bang problems are refined no further once one lowers the objective by less
        overstep_gain : of the objective; where oversteps between Gauss points gain more, to first order, the
            degree of the arcs is raised while it can be
        margin_factor : margins, and the growth of the duration, grow by this factor times what is missing
    Brackets where no structure is confirmed (`bracket`)
        bracket_end : part of a time limit at which local refinement ends; the rest is for adding nodes
        bracket_factor : of safety, by which the estimate of what is left to gain is multiplied
        bracket_first : most spans of the cubic spline that local refinement begins with
        bracket_degree : of the spline; with 6, bang arcs are followed to the fifth power of the knot distance
        bracket_share : of an even share of the bracket's width per span; spans that gain more are cut
        bracket_mark : of the largest gain of a span; spans that gain less are not cut in the same round
        bracket_spans : the most that a mesh may have
        bracket_narrowing : a mesh is idle whose bracket is wider than this part of the narrowest before it
        bracket_idle : idle meshes in a row that end the search; one alone may show what the former one hid
        bracket_iterations : of one solve on a finer mesh, for brackets from each of three starts
        bracket_least : iterations that are worth a higher degree, those of two meshes: where fewer are
            allowed for its size, the bracket is that of the finest cubic spline
    Added nodes (`added_nodes`)
        node_threshold : of the tolerance; local maxima of a violation above it become nodes
        tightening_factor : limits are tightened by this factor times their violation where nodes do not help
    Time scaling (`time_scaling`)
        most_time_scaling : of the duration; a longer extension asks for another motion
        scaled_share : of the bracket's width, by which time is scaled in place of adding more nodes
        time_scaling_attempts : factors that are tried
    """

    search_share: Share = 0.7
    least_held: Share = 0.25
    coarse_program: Several = 1000
    attempt_iterations: int = 600

    mesh_total: int = 2000
    marked_share: Share = MARKED_SHARE
    quartered_share: Share = 0.25
    samples_per_span: Several = SAMPLES_PER_SPAN
    significant_density: float = SIGNIFICANT_DENSITY
    small_gain: float = 5e-5

    convexity: float = 1e-9
    multiplier_floor: float = 1e-3
    significant_multiplier: float = SIGNIFICANT_DENSITY
    longest_switch: float = 6.0
    longest_gap: float = 2.6
    clear_gap: float = 1.2
    half_node_spacing: float = 0.3
    end_reach: float = 0.6
    boundary_margin: float = 5e-3
    fine_boundary_margin: float = 5e-4
    shortest_boundary_arc: float = 0.3
    merged_switches: float = 0.2
    samples_per_interval: Several = 24

    collapsed: Share = 1e-3
    collapsed_unconverged: Share = 1e-2
    short_arc: Share = 0.06
    most_short_arcs: int = 1
    idle: float = 1e-7
    active: float = 1e-5
    contradicted: float = 1e-4
    contradicted_free: float = 1e-2
    samples_per_arc: Several = 400
    snapped: Share = 0.02

    free_degree: Degree = 10
    shortest_arc: Share = SHORTEST_ARC
    continuity_tolerance: float = 1e-11
    acceptable_tolerance: float = 1e-9
    acceptable_iterations: int = 3
    least_barrier: float = 1e-15
    optimal: float = 1e-7
    effort_weight: float = 1e-2
    effort_weight_factor: Share = 0.1
    least_effort_weight: float = 1e-5

    unresolved: float = 1e-3
    most_arcs: int = 48
    wrong_structure: float = 1e-2
    wrong_structure_free: float = 0.1
    objective_change: float = 1e-7
    objective_tolerance: float = 1e-6
    overstep_gain: float = 1e-9
    margin_factor: float = 1.2

    bracket_end: Share = 0.8
    bracket_factor: float = 2.0
    bracket_first: int = 48
    bracket_degree: Degree = 6
    bracket_share: float = 0.25
    bracket_mark: float = 0.02
    bracket_spans: int = Refined.most
    bracket_narrowing: float = 0.7
    bracket_idle: Several = 2
    bracket_iterations: int = 150
    bracket_least: int = 40

    node_threshold: float = 0.1
    tightening_factor: float = 1.5

    most_time_scaling: Share = 0.02
    scaled_share: Share = 0.1
    time_scaling_attempts: int = 10

    @property
    def row_tolerances(self) -> RowTolerances:
        """The tolerances of rows in a solve on arcs."""
        return RowTolerances(
            self.continuity_tolerance,
            self.acceptable_tolerance,
            self.acceptable_iterations,
            self.least_barrier,
        )


@dataclass(frozen=True)
class SearchSettings(Thresholds):
    """Settings of the certified search: `Certified(settings=SearchSettings(most_intervals=320))`.

    Effort of the search
        arc_iterations : iterations of one solve on arcs; with the right structure it takes 3 to 40
        large_program : unknowns plus rows above which an iteration counts for more than one: for the size
            relative to this to the power 3/2, as its seconds grow
        total_iterations : the same of all structures; no solve begins that would exceed it if it took as many
            as the largest one before, and no mesh is made that only a further structure would need
    Meshes that structures are read from
        doublings : how often all spans are halved where controls are continuous
        refinements : how often spans with a large indicator are halved in bang-bang problems
        most_intervals : knots above which the mesh is not refined further
    Solves on arcs (`arc_problem`)
        highest_degree : beyond it the power basis behind the splines loses more digits than the degree gains
    Brackets where no structure is confirmed (`bracket`)
        bracket_width : of the objective; local refinement ends once the estimated bracket is as narrow: half
            of 1e-7, as limits that hold between nodes cost some more
        bracket_rounds : meshes that are solved; 0 for no bracket
        bracket_total : iterations of all solves, counted as on arcs, above which no further mesh is solved
    Added nodes (`added_nodes`)
        node_total : iterations, counted as on arcs, above which no further nodes are added: what is violated
            then is mended by time scaling
    Time scaling (`time_scaling`)
        most_scaled : of the duration, by which time is scaled at most where more nodes could be added
    """

    arc_iterations: int = 50
    large_program: Several = 500
    total_iterations: int = 600
    doublings: int = 2
    refinements: int = 9
    most_intervals: int = 160
    highest_degree: Degree = 18
    bracket_width: float = 5e-8
    bracket_rounds: int = 14
    bracket_total: int = 1000
    node_total: int = 7000
    most_scaled: Share = 3e-5

    def effort_of(self, solution: Answer) -> float:
        """The iterations of a solve, those of a large program counted for more."""
        return solution.iterations * self.effort(solution.n_variables + solution.n_constraints)

    def effort(self, size: int) -> float:
        """Relative cost of one iteration for a program of this size."""
        return max(1.0, size / self.large_program) ** 1.5

    def __post_init__(self) -> None:
        for field in fields(self):
            name, kind, value = field.name, str(field.type), getattr(self, field.name)
            if kind == "Degree":
                check_count(name, value, LOWEST_DEGREE, HIGHEST_DEGREE)
            elif isinstance(field.default, int):
                check_count(name, value, int(kind == "Several"))
            else:
                check_positive(name, value)
            if kind == "Share" and value >= 1.0:
                raise OptionError(f"{name} is {value!r}: give a part of the whole, between 0 and 1")


DEFAULT = SearchSettings()
