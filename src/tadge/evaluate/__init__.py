"""Judge models honestly: `tadge.evaluate(model, graph)`, `tadge.audit(...)`.

The room has the name of its main function, so the module itself can be called: `tadge.evaluate(...)` is
`tadge.evaluate.evaluate(...)`, whatever was imported before.
"""

from __future__ import annotations

import sys
from types import ModuleType

from tadge.evaluate.audit import audit as audit
from tadge.evaluate.result import Result as Result
from tadge.evaluate.run import evaluate as evaluate
from tadge.evaluate.run import evaluate_seeds as evaluate_seeds

__all__ = ["Result", "audit", "evaluate", "evaluate_seeds"]


class _Callable(ModuleType):
    __call__ = staticmethod(evaluate)


sys.modules[__name__].__class__ = _Callable
