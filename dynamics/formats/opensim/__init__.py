"""Model files of OpenSim (.osim): elements, functions, joints and forces, and the robot that they make."""
