"""
Two-link arm in minimum time
============================

Motors jump from limit to limit; each switch is found to the digits that are known of it.
"""

import problems
import trajopt

solution = trajopt.solve(problems.two_link_rr.build(), refine=trajopt.Certified(tol=1e-6))
print(f"{solution.duration:.10f} s, {solution.certificate.verdict}")
torques = trajopt.plot.torques(solution)

# %%
# Light is the start, dark the end.
motion = trajopt.plot.motion(solution)
