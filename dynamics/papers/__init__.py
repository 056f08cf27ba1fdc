"""The algorithms of the source papers under their authors' names, in plain NumPy, one node at a time.

Tests compare the compiled algorithms with them, and they are the place to learn an algorithm: every file
cites the equations it states and says which of them were misprinted. Each quantity keeps the dtype of q, so
that complex128 (complex step), CasADi expressions and operation-counting numbers run through the same lines.

A folder holds one publication; `trees` has the links, joints and rotors on which the algorithms work.
"""
