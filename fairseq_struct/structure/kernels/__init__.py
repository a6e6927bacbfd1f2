"""How kernels are compiled for the CPU, cached, and kept out of compiled graphs."""
