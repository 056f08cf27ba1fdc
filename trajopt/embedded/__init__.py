"""Steps of replanning written as C."""
