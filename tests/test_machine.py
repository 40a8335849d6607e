"""Memory of the machine and of this process."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import psutil

from tadge.machine import available_memory, peak_memory_mb


def test_what_is_available_is_less_than_all():
    assert 0 < available_memory() <= psutil.virtual_memory().total


def test_the_peak_stays_when_memory_is_given_back():
    code = "import numpy; from tadge.machine import peak_memory_mb as peak; before = peak(); held = numpy.ones(10**7)"
    code += "; del held; print(peak() - before)"
    grown = float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)
    assert 60 < grown < 120  # 80 MB were held for a moment
    assert np.isfinite(peak_memory_mb())
