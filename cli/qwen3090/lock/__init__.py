"""The lock of every wheel: nix/wheels.json is made from nix/pins.json and pip's own resolver.

``wheelfile`` reads and writes the lock with the standard library alone, because the bootstrap of a
fresh checkout needs it before anything is installed.
"""
