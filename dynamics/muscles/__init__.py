"""Muscles on a robot: paths over points and surfaces, surrogates, fibres and tendons, forces in joints."""
