"""The trees on which the papers' algorithms work: joints of any number of DOF, links, rotors."""
