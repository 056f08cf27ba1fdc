"""Files and tables that describe robots: URDF and Denavit-Hartenberg rows."""
