"""One function per stage: the Python API of Pairbench."""
