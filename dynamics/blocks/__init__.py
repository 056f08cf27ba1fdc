"""Blocks of a robot for optimizers: values, first and contracted second derivatives of chosen quantities."""
