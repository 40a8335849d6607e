"""tadge: time-aware dynamic graph embedding, and forecasts of who links to whom, and when.

Names are imported when first used, so that `import tadge` and `tadge --help` stay quick; `__init__.pyi` lists them.
"""

import logging

import lazy_loader

logging.getLogger(__name__).addHandler(logging.NullHandler())  # what is told there is for those who collect it

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
