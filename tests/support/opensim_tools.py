"""Runs OpenSim on an exported gait cycle: inverse_dynamics.sto and walk_places_*.sto in the folder given."""

import os
import sys
from importlib import import_module

opensim = import_module("opensim")  # an extra that type checkers need not have
os.chdir(sys.argv[1])
opensim.Logger.setLevelString("warn")
opensim.InverseDynamicsTool("inverse_dynamics.xml").run()

model = opensim.Model("body.osim")
places = opensim.BodyKinematics()
places.setName("places")
places.setModel(model)
model.addAnalysis(places)
motion = opensim.Storage("coordinates.mot")
tool = opensim.AnalyzeTool(model)
tool.setName("walk")
tool.setCoordinatesFileName("coordinates.mot")
tool.setLowpassCutoffFrequency(-1)
tool.setStartTime(motion.getFirstTime())
tool.setFinalTime(motion.getLastTime())
tool.setResultsDir(".")
tool.setLoadModelAndInput(True)
tool.run()
