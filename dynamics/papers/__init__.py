"""The algorithms of the source papers under their authors' names, in plain NumPy, one node at a time.

Tests compare the compiled algorithms with them, and they are the place to learn an algorithm: every file
cites the equations it states and says which of them were misprinted. Each quantity keeps the dtype of q, so
that complex128 (complex step), CasADi expressions and operation-counting numbers run through the same lines.

barman, barman_sensitivities       Newton-Euler in moving coordinates and its sensitivities
coriolis_algorithm                 Echeandia and Wensing, Algorithm 1; coriolis_product is remark 2
christoffel_algorithm              Echeandia and Wensing, Algorithm 2
coordinate_change, body_jacobians, centre_of_mass_coordinates   their section 3.3 and remarks 4 to 6
maba, maba_as_printed, mcrba       Echeandia, chapter 4; gauss_principle is its starting point (4.1)
safeea, path_form, operation_count Safeea, Neto and Bearee; serial_chain has the frames that they start from
savin                              the Lagrangian equations, symbolically
linkage, joint_motion, spatial     the tree on which they work; geared_joint adds rotors to its joints
autotree                           Featherstone's trees, on which Echeandia published numbers
"""
