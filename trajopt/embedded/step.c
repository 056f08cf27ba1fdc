/* One step of a receding horizon: a Newton step on the optimality conditions from the plan before, in the
 * active-set method of minimum_by_homotopy of trajopt. The functions of one node are in terms.c, the structure of
 * the program in tables.h, the interface with units in step.h. No memory is allocated; every plan is a struct
 * of its own, so that several threads may step plans of their own at once.
 *
 * Unknowns are ordered by time. With unit rows A_W of the active constraints,
 *
 *     K = [H  A_W'; A_W  0],      H + WEIGHT A_W' A_W = L L'  (envelope Cholesky factorization),
 *
 * and systems in K are solved by L with refinement, to rounding.
 */
#include <math.h>
#include <string.h>
#include "step.h"
#include "tables.h"

#define M (ROWS + UNKNOWNS)            /* constraints: rows, then bounds of the unknowns */
#define FLAT 1e-10                     /* curvature of an active constraint below which it is not dropped */
#define DEPENDENT 1e-8                 /* rest of a unit row beside others, below which it depends on them */
#define ROUNDING 1e-12
#define BEYOND 0.01                    /* of what d = 0 violates a limit by: how far beyond it the limit begins */
#define POOR 0.1                       /* of the way through a quadratic program, below which it leads nowhere */
#define WEIGHT 1e5                     /* of active constraints in the factorized matrix, of its largest entry */
#define HEAVIER 1e3                    /* times that, up to HEAVIEST, where active constraints nearly depend on */
#define HEAVIEST 1e12                  /* each other, so that refinement is slow */
#define MOST_REFINEMENTS 20
#define ACCURATE 1e-15                 /* of the right-hand side, a residual that is not refined further */
#define LOST 1e-7                      /* of the right-hand side, a residual with which a solution is none */

typedef STEP_PLAN Plan;

static double larger(double a, double b) { return a > b ? a : b; }
static double smaller(double a, double b) { return a < b ? a : b; }

/* Sum of products, in four sums: the compiler need not keep one order of additions. */
static double dot(const double *a, const double *b, int count)
{
    double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
    int k = 0;
    for (; k + 3 < count; k += 4) {
        s0 += a[k] * b[k];
        s1 += a[k + 1] * b[k + 1];
        s2 += a[k + 2] * b[k + 2];
        s3 += a[k + 3] * b[k + 3];
    }
    for (; k < count; k++) s0 += a[k] * b[k];
    return (s0 + s1) + (s2 + s3);
}

/* result += matrix x, of compressed rows. */
static void add_product(int rows, const int *starts, const int *columns, const double *values, const double *x,
                        double *result)
{
    for (int i = 0; i < rows; i++)
        for (int k = starts[i]; k < starts[i + 1]; k++) result[i] += values[k] * x[columns[k]];
}

/* The values of what depends on the inputs: offsets of the leaves, constants of linear rows, limits. */
static void put_inputs(Plan *w)
{
    memcpy(w->offset, OFFSET, sizeof OFFSET);
    add_product(NODES * LEAVES, OFFSET_STARTS, OFFSET_COLUMNS, OFFSET_VALUES, w->inputs, w->offset);
    memcpy(w->lower, LOWER, sizeof LOWER);
    add_product(M + FURTHER_BOUNDS, LOWER_STARTS, LOWER_COLUMNS, LOWER_VALUES, w->inputs, w->lower);
    memcpy(w->upper, UPPER, sizeof UPPER);
    add_product(M + FURTHER_BOUNDS, UPPER_STARTS, UPPER_COLUMNS, UPPER_VALUES, w->inputs, w->upper);
    for (int k = 0; k < FURTHER_BOUNDS; k++) {
        const int row = ROWS + BOUNDED[k];
        w->lower[row] = larger(w->lower[row], w->lower[M + k]);
        w->upper[row] = smaller(w->upper[row], w->upper[M + k]);
    }
}

/* Values of the rows at y; of the linear ones, whose constants stand in their limits, the products alone. */
static void rows_at(Plan *w, const double *y)
{
    memcpy(w->leaves, w->offset, sizeof w->leaves);
    add_product(NODES * LEAVES, B_STARTS, B_COLUMNS, B_VALUES, y, w->leaves);
    for (int k = 0; k < NODES; k++) {
        const double *arguments[1] = {w->leaves + k * LEAVES};
        double *results[1] = {w->quantities + k * QUANTITIES};
        NODE_VALUES(arguments, results, w->node_integers, w->node_work, 0);
    }
    for (int i = 0; i < ROWS; i++) {
        double sum = 0.0;
        for (int k = ROW_STARTS[i]; k < ROW_STARTS[i + 1]; k++) sum += ROW_VALUES[k] * w->quantities[ROW_PLACES[k]];
        w->rows[i] = sum;
    }
    for (int i = 0; i < LINEAR_ROWS; i++) {
        double sum = 0.0;
        for (int k = J_STARTS[i]; k < J_STARTS[i + 1]; k++) sum += LINEAR_VALUES[k] * y[J_COLUMNS[k]];
        w->rows[i] = sum;
    }
}

/* Add second derivatives by leaves of a node, those from one entry to another, to H. */
static void add_second(Plan *w, int node, int from, int to)
{
    for (int s = from; s < to; s++) {
        const int one = node * LEAVES + SECOND_ROWS[s], other = node * LEAVES + SECOND_COLUMNS[s];
        const int same = one == other;
        for (int a = B_STARTS[one]; a < B_STARTS[one + 1]; a++) {
            const double value = w->second[s - from] * B_VALUES[a];
            const int i = B_COLUMNS[a];
            for (int b = B_STARTS[other]; b < B_STARTS[other + 1]; b++) {
                const int j = B_COLUMNS[b];
                const double entry = value * B_VALUES[b];
                if (i > j) {
                    w->H[ENVELOPE[i] + j] += entry;
                } else if (i == j) {
                    w->H[ENVELOPE[i] + i] += same ? entry : 2.0 * entry;
                } else if (!same) {
                    w->H[ENVELOPE[j] + i] += entry;
                }
            }
        }
    }
}

/* Gradient, Jacobian of the rows and Hessian of the Lagrangian at y, for which rows_at was called. */
static void derivatives_at(Plan *w)
{
    memset(w->gradient, 0, sizeof w->gradient);
    memset(w->H, 0, sizeof w->H);
    memcpy(w->adjoints, OBJECTIVE, sizeof OBJECTIVE);
    for (int i = 0; i < ROWS; i++)
        for (int k = ROW_STARTS[i]; k < ROW_STARTS[i + 1]; k++) w->adjoints[ROW_PLACES[k]] += ROW_VALUES[k] * w->mu[i];
    for (int k = 0; k < NODES; k++) {
        double *slopes = w->slopes + k * SLOPES;
        const double *arguments[2] = {w->leaves + k * LEAVES, 0};
        double *results[1] = {slopes};
        NODE_SLOPES(arguments, results, w->node_integers, w->node_work, 0);
        for (int u = 0; u < QUANTITIES; u++) {
            const double weight = OBJECTIVE[k * QUANTITIES + u];
            if (weight == 0.0) continue;
            for (int s = SLOPE_STARTS[u]; s < SLOPE_STARTS[u + 1]; s++) {
                const int leaf = k * LEAVES + SLOPE_LEAVES[s];
                const double slope = weight * slopes[s];
                for (int b = B_STARTS[leaf]; b < B_STARTS[leaf + 1]; b++)
                    w->gradient[B_COLUMNS[b]] += slope * B_VALUES[b];
            }
        }
        for (int part = 0; part < PARTS; part++) {
            const double *weights = w->adjoints + k * QUANTITIES + PART_FIRST[part];
            int counts = 0;
            for (int u = 0; u < PART_WIDTHS[part]; u++) counts |= weights[u] != 0.0;
            if (!counts) continue;
            arguments[1] = weights;
            results[0] = w->second;
            PART_FUNCTIONS[part](arguments, results, w->node_integers, w->node_work, 0);
            add_second(w, k, SECOND_STARTS[part], SECOND_STARTS[part + 1]);
        }
    }
    memcpy(w->J, LINEAR_VALUES, LINEAR_ENTRIES * sizeof(double));
    for (int i = LINEAR_ROWS; i < ROWS; i++) {
        for (int k = ROW_STARTS[i]; k < ROW_STARTS[i + 1]; k++) {
            const int node = ROW_PLACES[k] / QUANTITIES, u = ROW_PLACES[k] % QUANTITIES;
            const double *slopes = w->slopes + node * SLOPES;
            for (int s = SLOPE_STARTS[u]; s < SLOPE_STARTS[u + 1]; s++) {
                const int leaf = node * LEAVES + SLOPE_LEAVES[s];
                const double slope = ROW_VALUES[k] * slopes[s];
                for (int b = B_STARTS[leaf]; b < B_STARTS[leaf + 1]; b++)
                    w->line[B_COLUMNS[b]] += slope * B_VALUES[b];
            }
        }
        for (int k = J_STARTS[i]; k < J_STARTS[i + 1]; k++) {
            w->J[k] = w->line[J_COLUMNS[k]];
            w->line[J_COLUMNS[k]] = 0.0;
        }
    }
    for (int i = 0; i < ROWS; i++) {
        w->length[i] = larger(sqrt(dot(w->J + J_STARTS[i], w->J + J_STARTS[i], J_STARTS[i + 1] - J_STARTS[i])), ROUNDING);
        for (int k = J_STARTS[i]; k < J_STARTS[i + 1]; k++) w->J[k] /= w->length[i];
    }
}

/* Products with the unit rows: one of them with x, and x plus a multiple of one. */
static double row_times(const Plan *w, int row, const double *x)
{
    if (row >= ROWS) return x[row - ROWS];
    double sum = 0.0;
    for (int k = J_STARTS[row]; k < J_STARTS[row + 1]; k++) sum += w->J[k] * x[J_COLUMNS[k]];
    return sum;
}

static void add_row(const Plan *w, int row, double factor, double *x)
{
    if (row >= ROWS) {
        x[row - ROWS] += factor;
        return;
    }
    for (int k = J_STARTS[row]; k < J_STARTS[row + 1]; k++) x[J_COLUMNS[k]] += factor * w->J[k];
}

/* x -= H v */
static void subtract_H(const Plan *w, const double *v, double *x)
{
    for (int i = 0; i < UNKNOWNS; i++) {
        const double *line = w->H + ENVELOPE[i];
        double sum = line[i] * v[i];
        for (int j = FIRST[i]; j < i; j++) {
            sum += line[j] * v[j];
            x[j] -= line[j] * v[i];
        }
        x[i] -= sum;
    }
}

/* L of the active constraints; 0 where the matrix is not positive definite. */
static int factorize(Plan *w)
{
    memcpy(w->L, w->H, sizeof w->L);
    w->actives = 0;
    for (int row = 0; row < M; row++) {
        if (!w->side[row]) continue;
        w->active[w->actives++] = row;
        if (row >= ROWS) {
            const int i = row - ROWS;
            w->L[ENVELOPE[i] + i] += w->weight;
            continue;
        }
        for (int a = J_STARTS[row]; a < J_STARTS[row + 1]; a++) {
            const double value = w->weight * w->J[a];
            double *line = w->L + ENVELOPE[J_COLUMNS[a]];
            for (int b = J_STARTS[row]; b <= a; b++) line[J_COLUMNS[b]] += value * w->J[b];
        }
    }
    for (int i = 0; i < UNKNOWNS; i++) {
        double *line = w->L + ENVELOPE[i];
        for (int j = FIRST[i]; j < i; j++) {
            const double *other = w->L + ENVELOPE[j];
            const int from = FIRST[i] > FIRST[j] ? FIRST[i] : FIRST[j];
            line[j] = (line[j] - dot(line + from, other + from, j - from)) * w->inverse[j];
        }
        const double pivot = line[i] - dot(line + FIRST[i], line + FIRST[i], i - FIRST[i]);
        if (!(pivot > 0.0)) return 0;
        line[i] = sqrt(pivot);
        w->inverse[i] = 1.0 / line[i];
    }
    return 1;
}

static void solve_factors(const Plan *w, double *x)
{
    for (int i = 0; i < UNKNOWNS; i++) {
        const double *line = w->L + ENVELOPE[i];
        x[i] = (x[i] - dot(line + FIRST[i], x + FIRST[i], i - FIRST[i])) * w->inverse[i];
    }
    for (int i = UNKNOWNS - 1; i >= 0; i--) {
        const double *line = w->L + ENVELOPE[i];
        x[i] *= w->inverse[i];
        for (int j = FIRST[i]; j < i; j++) x[j] -= line[j] * x[i];
    }
}

/* solve, with the weight that constraints have now. */
static int refine(Plan *w, const double *right, const double *limits, double *x, double *z)
{
    double size = 1.0, before = INFINITY;
    memset(x, 0, UNKNOWNS * sizeof *x);
    memset(z, 0, M * sizeof *z);
    for (int i = 0; i < UNKNOWNS; i++) size = larger(size, fabs(right[i]));
    for (int a = 0; a < w->actives; a++) size = larger(size, fabs(limits[w->active[a]]));
    for (int turn = 0; turn <= MOST_REFINEMENTS; turn++) {
        double error = 0.0, *rest = w->rest, *missed = w->missed;
        memcpy(rest, right, sizeof w->rest);
        if (turn) subtract_H(w, x, rest);
        for (int a = 0; a < w->actives; a++) {
            const int row = w->active[a];
            missed[a] = limits[row];
            if (turn) {
                missed[a] -= row_times(w, row, x);
                add_row(w, row, -z[row], rest);
            }
            error = larger(error, fabs(missed[a]));
        }
        for (int i = 0; i < UNKNOWNS; i++) error = larger(error, fabs(rest[i]));
        if (!(error == error)) return 0;
        if (error <= ACCURATE * size || (turn && error > 0.5 * before) || turn == MOST_REFINEMENTS)
            return error <= LOST * size;
        before = error;
        for (int a = 0; a < w->actives; a++) add_row(w, w->active[a], w->weight * missed[a], rest);
        solve_factors(w, rest);
        for (int i = 0; i < UNKNOWNS; i++) x[i] += rest[i];
        for (int a = 0; a < w->actives; a++)
            z[w->active[a]] += w->weight * (row_times(w, w->active[a], rest) - missed[a]);
    }
    return 0;
}

/* K [x; z] = [right; limits], z and limits by constraint, those that are not active zero; 0 if it fails. */
static int solve(Plan *w, const double *right, const double *limits, double *x, double *z)
{
    while (!refine(w, right, limits, x, z)) {
        w->weight *= HEAVIER;
        if (w->weight > HEAVIEST * w->size || !factorize(w)) return 0;
    }
    return 1;
}

static int is_equation(const Plan *w, int row) { return w->lower[row] == w->upper[row]; }

/* The weights z of the active rows in a unit row; 1 if it is no combination of them, 0 if so, -1 on failure. */
static int beside_active(Plan *w, int row, double *z)
{
    double *right = w->right, *rest = w->step;
    memset(w->of_limits, 0, sizeof w->of_limits);
    memset(right, 0, sizeof w->right);
    add_row(w, row, 1.0, right);
    if (!solve(w, right, w->of_limits, rest, z)) return -1;
    const int bends = row_times(w, row, rest) > 0.0;
    for (int a = 0; a < w->actives; a++) add_row(w, w->active[a], -z[w->active[a]], right);
    return w->actives < UNKNOWNS && sqrt(dot(right, right, UNKNOWNS)) > DEPENDENT && bends;
}

static int drop(Plan *w, int row)
{
    memset(w->right, 0, sizeof w->right);
    memset(w->of_limits, 0, sizeof w->of_limits);
    w->of_limits[row] = 1.0;
    if (!solve(w, w->right, w->of_limits, w->step, w->z) || w->z[row] >= -FLAT) return 0;
    w->side[row] = 0;
    w->unit_mu[row] = 0.0;
    return factorize(w);
}

static int add(Plan *w, int row, int side)
{
    int independent = beside_active(w, row, w->z);
    if (independent < 0) return 0;
    if (!independent) {
        double length = INFINITY;
        int first = -1;
        for (int a = 0; a < w->actives; a++) {
            const int one = w->active[a];
            const double shrinking = side * w->z[one] * w->side[one];
            if (is_equation(w, one) || !(shrinking > DEPENDENT)) continue;
            const double own = larger(w->side[one] * w->unit_mu[one], 0.0) / shrinking;
            if (own < length) {
                length = own;
                first = one;
            }
        }
        if (first < 0) return 0;
        for (int a = 0; a < w->actives; a++) w->unit_mu[w->active[a]] -= length * side * w->z[w->active[a]];
        w->unit_mu[row] = length * side;
        if (!drop(w, first) || beside_active(w, row, w->z) != 1) return 0;
    }
    w->side[row] = (signed char)side;
    return factorize(w);
}

/* The homotopy from the active set w->side and its multipliers to w->tried; 0 where it ends early. */
static int homotopy(Plan *w)
{
    double tau = 0.0, *d = w->tried.d, *mu = w->unit_mu;
    int changes = 0, ended = 0;
    memset(d, 0, sizeof w->tried.d);
    for (int row = 0; row < M; row++) mu[row] = w->side[row] ? w->mu[row] * w->length[row] : 0.0;
    if (!factorize(w) || w->actives > UNKNOWNS) return 0;
    memcpy(w->slope, w->gradient, sizeof w->slope);
    for (int a = 0; a < w->actives; a++) add_row(w, w->active[a], mu[w->active[a]], w->slope);
    for (int row = 0; row < M; row++) {
        const double low = w->low[row], high = w->high[row];
        double begin_low = w->side[row] < 0 ? 0.0 : smaller(low, -BEYOND * low);
        double begin_high = w->side[row] > 0 ? 0.0 : larger(high, -BEYOND * high);
        if (is_equation(w, row) && w->side[row]) begin_low = begin_high = 0.0;
        w->gap[0][row] = begin_high;
        w->gap[1][row] = -begin_low;
        w->rate[0][row] = isfinite(high) ? begin_high - high : 0.0;
        w->rate[1][row] = isfinite(low) ? low - begin_low : 0.0;
    }
    while (changes <= 2 * UNKNOWNS) {
        double length = 1.0 - tau;
        int event = -1, side = 0;
        for (int i = 0; i < UNKNOWNS; i++) w->right[i] = -w->slope[i];
        for (int a = 0; a < w->actives; a++) {
            const int row = w->active[a];
            w->of_limits[row] = w->side[row] < 0 ? w->rate[1][row] : -w->rate[0][row];
        }
        if (!solve(w, w->right, w->of_limits, w->step, w->z)) break;
        for (int row = 0; row < M; row++) {
            const double along = row_times(w, row, w->step);
            w->closing[0][row] = w->rate[0][row] + along;
            w->closing[1][row] = w->rate[1][row] - along;
        }
        for (int s = 0; s < 2; s++)
            for (int row = 0; row < M; row++)
                if (!w->side[row] && w->closing[s][row] > ROUNDING) {
                    const double own = larger(w->gap[s][row], 0.0) / w->closing[s][row];
                    if (own < length) {
                        length = own;
                        event = row;
                        side = s ? -1 : 1;
                    }
                }
        for (int a = 0; a < w->actives; a++) {
            const int row = w->active[a];
            const double falling = -w->side[row] * w->z[row];
            if (is_equation(w, row) || !(falling > ROUNDING)) continue;
            const double own = larger(w->side[row] * mu[row], 0.0) / falling;
            if (own < length) {
                length = own;
                event = row;
                side = 0;
            }
        }
        tau += length;
        for (int i = 0; i < UNKNOWNS; i++) d[i] += length * w->step[i];
        for (int s = 0; s < 2; s++)
            for (int row = 0; row < M; row++) w->gap[s][row] -= length * w->closing[s][row];
        for (int a = 0; a < w->actives; a++) mu[w->active[a]] += length * w->z[w->active[a]];
        if (event < 0) {
            ended = 1;
            break;
        }
        if (!(side ? add(w, event, side) : drop(w, event))) break;
        changes++;
    }
    if (!ended && !(tau >= POOR)) return 0;
    if (ended && changes) {
        for (int i = 0; i < UNKNOWNS; i++) w->right[i] = -w->gradient[i];
        for (int a = 0; a < w->actives; a++) {
            const int row = w->active[a];
            w->of_limits[row] = w->side[row] < 0 ? w->low[row] : w->high[row];
        }
        if (!solve(w, w->right, w->of_limits, d, w->z)) return 0;
        memcpy(mu, w->z, sizeof w->unit_mu);
    }
    w->tried.tau = ended ? 1.0 : tau;
    for (int row = 0; row < M; row++) w->tried.mu[row] = mu[row] / w->length[row];
    memcpy(w->tried.side, w->side, sizeof w->side);
    return 1;
}

/* w->best, the step from an active set, with the least shift of the Hessian that lets it pass; 0 for none. */
static int full_step(Plan *w)
{
    static const double SHIFTS[] = {1e-6, 1e-4, 1e-2, 1.0};
    double shifted = 0.0;
    w->best.tau = 0.0;
    w->size = 1.0;
    for (int i = 0; i < UNKNOWNS; i++)
        for (int j = FIRST[i]; j <= i; j++) w->size = larger(w->size, fabs(w->H[ENVELOPE[i] + j]));
    for (int row = 0; row < M; row++) {
        const double value = row < ROWS ? w->rows[row] : w->y[row - ROWS];
        w->low[row] = (w->lower[row] - value) / w->length[row];
        w->high[row] = (w->upper[row] - value) / w->length[row];
    }
    memcpy(w->first_side, w->side, sizeof w->side);
    for (int k = 0; k < 4; k++) {
        for (int i = 0; i < UNKNOWNS; i++) w->H[ENVELOPE[i] + i] += (SHIFTS[k] - shifted) * w->size;
        shifted = SHIFTS[k];
        memcpy(w->side, w->first_side, sizeof w->side);
        w->weight = WEIGHT * w->size;
        if (homotopy(w) && w->tried.tau > w->best.tau) w->best = w->tried;
        if (w->best.tau > 0.5) break;
    }
    return w->best.tau > 0.0;
}

/* The active set by the multipliers, as an interior-point method leaves them: equations are always active. */
static void active_sides(Plan *w)
{
    double most = 1.0;
    for (int row = 0; row < M; row++) most = larger(most, fabs(w->mu[row]));
    for (int row = 0; row < M; row++) {
        const double mu = w->mu[row];
        const int strong = fabs(mu) > STRONG * most;
        w->side[row] = 0;
        if (strong && isfinite(w->upper[row]) && mu > 0.0) w->side[row] = 1;
        if (strong && isfinite(w->lower[row]) && mu < 0.0) w->side[row] = -1;
        if (is_equation(w, row) && !w->side[row]) w->side[row] = 1;
    }
}

static double violation_of(const Plan *w)
{
    double worst = 0.0;
    for (int row = 0; row < M; row++) {
        const double value = row < ROWS ? w->rows[row] : w->y[row - ROWS];
        const double own = larger(w->lower[row] - value, value - w->upper[row]);
        if (!(own <= worst)) worst = own;
    }
    return worst == worst ? worst : INFINITY;
}

static void clip(Plan *w)
{
    for (int i = 0; i < UNKNOWNS; i++) w->y[i] = smaller(larger(w->y[i], w->lower[ROWS + i]), w->upper[ROWS + i]);
}

/* Put y inside the bounds of the unknowns, unless that violates rows by more; gives the violation. */
static double clipped(Plan *w, double violation)
{
    double inside;
    memcpy(w->rest, w->y, sizeof w->rest);
    clip(w);
    if (!memcmp(w->rest, w->y, sizeof w->rest)) return violation;
    rows_at(w, w->y);
    inside = violation_of(w);
    if (inside <= larger(violation, LITTLE)) return inside;
    memcpy(w->y, w->rest, sizeof w->y);
    return violation;
}

/* The plan so many samples later as the start of a step: motion and multipliers move along. */
static void shift(Plan *w, const double *y, const double *mu, const double *before, int samples)
{
    memcpy(w->y, SHIFT_CONSTANT[samples], sizeof w->y);
    add_product(UNKNOWNS, SHIFT_STARTS[samples], SHIFT_COLUMNS[samples], SHIFT_VALUES[samples], y, w->y);
    add_product(UNKNOWNS, BEFORE_STARTS[samples], BEFORE_COLUMNS[samples], BEFORE_VALUES[samples], before, w->y);
    add_product(UNKNOWNS, NOW_STARTS[samples], NOW_COLUMNS[samples], NOW_VALUES[samples], w->inputs, w->y);
    clip(w);
    for (int row = 0; row < M; row++) {
        const int source = SOURCES[samples][row];
        w->mu[row] = source < 0 ? 0.0 : mu[source] * FACTORS[samples][row];
    }
}

void STEP_START(Plan *w)
{
    memset(w, 0, sizeof *w);
    memcpy(w->plan.y, START, sizeof START);
    memcpy(w->plan.multipliers, START_MULTIPLIERS, sizeof START_MULTIPLIERS);
    memcpy(w->plan.inputs, START_INPUTS, sizeof START_INPUTS);
    for (int row = 0; row < M; row++) w->length[row] = 1.0;
}

/* Steps for the inputs now from a plan so many samples old; w->y, w->mu and the violation are the new plan. */
static STEP_STATUS steps_from(Plan *w, const double *y, const double *mu, const double *before, int samples,
                              double *violation)
{
    int number = 0;
    shift(w, y, mu, before, samples);
    active_sides(w);
    rows_at(w, w->y);
    for (;;) {
        derivatives_at(w);
        if (!full_step(w)) return STEP_NO_STEP;
        for (int i = 0; i < UNKNOWNS; i++) w->y[i] += w->best.d[i];
        memcpy(w->mu, w->best.mu, sizeof w->mu);
        memcpy(w->side, w->best.side, sizeof w->side);
        number++;
        rows_at(w, w->y);
        *violation = violation_of(w);
        if (*violation <= WORST) return STEP_NEW;
        if (number > FURTHER) return STEP_INFEASIBLE;
    }
}

STEP_STATUS STEP_STEP(Plan *w, const double *inputs, int samples)
{
    double violation;
    STEP_STATUS status;
    if (samples < 0) return STEP_BAD_INPUT;
    w->plan.age = w->plan.age > MOST_SAMPLES - samples ? MOST_SAMPLES : w->plan.age + samples;
    for (int i = 0; i < INPUTS; i++)
        if (!isfinite(inputs[i])) return STEP_BAD_INPUT;
    memcpy(w->inputs, inputs, sizeof w->inputs);
    put_inputs(w);
    for (int row = 0; row < M; row++)
        if (!(w->lower[row] <= w->upper[row])) return STEP_BAD_INPUT;
    status = steps_from(w, w->plan.y, w->plan.multipliers, w->plan.inputs, w->plan.age, &violation);
    /* A plan that followed an input that was wrong may be far from all that is measured. */
    if (status != STEP_NEW && steps_from(w, START, START_MULTIPLIERS, START_INPUTS, 0, &violation) != STEP_NEW)
        return status;
    w->plan.violation = clipped(w, violation);
    memcpy(w->plan.y, w->y, sizeof w->y);
    memcpy(w->plan.multipliers, w->mu, sizeof w->mu);
    memcpy(w->plan.inputs, w->inputs, sizeof w->inputs);
    w->plan.age = 0;
    return STEP_NEW;
}

void STEP_OUTPUTS(Plan *w, double *states, double *controls)
{
    const int age = w->plan.age;
    double *values = w->planned;
    memcpy(values, OUTPUT_CONSTANT[age], sizeof w->planned);
    add_product(TIMES * OUTPUTS, OUTPUT_STARTS[age], OUTPUT_COLUMNS[age], OUTPUT_VALUES[age], w->plan.y, values);
    add_product(TIMES * OUTPUTS, PLANNED_STARTS[age], PLANNED_COLUMNS[age], PLANNED_VALUES[age], w->plan.inputs,
                values);
    for (int t = 0; t < TIMES; t++) {
        const double *arguments[1] = {values + t * OUTPUTS};
        double *results[1] = {controls + t * CONTROLS};
        memcpy(states + t * STATES, values + t * OUTPUTS, STATES * sizeof(double));
        OUTPUT_CONTROLS(arguments, results, w->node_integers, w->node_work, 0);
    }
}
