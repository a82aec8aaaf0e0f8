"""``verify --live``: what a running server does and uses, against what its profile promises."""

from qwen3090.verify.live.compare import compare
from qwen3090.verify.live.run import check_live

__all__ = ["check_live", "compare"]
