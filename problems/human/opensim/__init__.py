"""Files for OpenSim: the body, its motion, ground reactions and moments, and setups of OpenSim's tools."""
