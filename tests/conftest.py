"""Settings for all tests."""

import os

# Tiny tensors gain nothing from threads, and two programs with two threads each on two cores
# mostly wait for one another. Set before torch is imported; programs that tests start inherit it.
os.environ.setdefault("OMP_NUM_THREADS", "1")
