"""What is wrong with this machine: every check, its outcomes and the command that mends each."""

from qwen3090.doctor.run import diagnose

__all__ = ["diagnose"]
