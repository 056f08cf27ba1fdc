"""Complex numbers with their functions as methods: an arithmetic for algorithms that take any."""

import cmath


class Number(complex):
    def __mul__(self, other):
        return Number(complex(self) * complex(other))

    def __add__(self, other):
        return Number(complex(self) + complex(other))

    def __sub__(self, other):
        return Number(complex(self) - complex(other))

    def __truediv__(self, other):
        return Number(complex(self) / complex(other))

    def __neg__(self):
        return Number(-complex(self))

    __rmul__, __radd__ = __mul__, __add__

    def sin(self):
        return Number(cmath.sin(self))

    def cos(self):
        return Number(cmath.cos(self))
