"""
Cart and pole
=============

Nothing drives the pole; the cart swings it up in two seconds with the least effort.
"""

import problems
import trajopt

solution = trajopt.solve(problems.cart_pole.build(), starts=1)
print(f"{solution.objective:.4f} N² s; Kelly (SIAM Review 2017) has 58.81")
motion = trajopt.plot.motion(solution, snapshots=17)
