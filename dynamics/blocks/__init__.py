"""What an optimizer gets of a robot: values, first and contracted second derivatives of chosen quantities."""
