"""Files and tables that describe robots: URDF, models of MuJoCo, and Denavit-Hartenberg rows."""
