"""Public functions called with one or two wrong arguments: a typed error, never an answer."""

from __future__ import annotations

import json

import numpy as np

from tests.fuzz.mutations import pick
from tests.fuzz.public_calls import calls, solution
from tests.fuzz.verdicts import Mismatch
from tests.fuzz.wrong_values import wrong_for


class CallTarget:
    """Every public function, every argument, every wrong object once; then two wrong arguments at random."""

    name, suffix = "calls", ".json"

    def prepare(self) -> None:
        solution().tau([0.0])
        self._singles = [
            {"call": name, "wrong": {argument: value}}
            for name, call in calls().items()
            for argument, (kind, _) in call.arguments.items()
            for value in wrong_for(kind)
        ]
        self._next = 0

    def mutant(self, rng: np.random.Generator) -> bytes:
        if self._next < len(self._singles):
            self._next += 1
            return json.dumps(self._singles[self._next - 1]).encode()
        name = pick(rng, list(calls()))
        arguments = calls()[name].arguments
        chosen = rng.choice(list(arguments), size=min(2, len(arguments)), replace=False).tolist()
        wrong = {argument: pick(rng, list(wrong_for(arguments[argument][0]))) for argument in chosen}
        return json.dumps({"call": name, "wrong": wrong}).encode()

    def check(self, data: bytes) -> None:
        case = json.loads(data)
        call = calls()[case["call"]]
        given = {name: value for name, (_, value) in call.arguments.items()}
        for argument, key in case["wrong"].items():
            given[argument] = wrong_for(call.arguments[argument][0])[key]()
        call.function()(**given)
        raise Mismatch(f"{case['call']} took {case['wrong']} without a word")
