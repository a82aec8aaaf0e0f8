"""Set-up without Nix: the locked wheels and the patch series in one virtual environment.

``locked`` and ``machine`` use the standard library alone: the bootstrap of a fresh checkout
(cli/bootstrap.py) runs them before anything is installed.
"""
