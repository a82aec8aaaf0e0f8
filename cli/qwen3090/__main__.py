"""``python -m qwen3090``: the same commands as the ``qwen3090`` script."""

from qwen3090.main import main

main()
