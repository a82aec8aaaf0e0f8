"""The one vLLM version these parts are written for; anything else is refused, not tried."""

VLLM_VERSION = "0.28.0"


def require_vllm() -> None:
    """Check the version of the vLLM that is imported.

    Raises:
        RuntimeError: it is another one; the message says what to run.
    """
    import vllm

    found = str(vllm.__version__)
    if found.split("+")[0] != VLLM_VERSION:
        raise RuntimeError(
            f"qwen3090_ops is written for vLLM {VLLM_VERSION}, this is {found} "
            f"({vllm.__file__}); run `qwen3090 setup` to install the pinned engine"
        )
