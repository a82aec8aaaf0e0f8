"""Every exit status of ``qwen3090 serve``, in one place. Usage errors end with click's 2."""

OK = 0
BAD_CONFIGURATION = 64
BAD_CHECKPOINT = 65
PLAN_DOES_NOT_FIT = 66
NO_GPU_MEMORY = 67
PORT_TAKEN = 68
ENGINE_DID_NOT_START = 69
ENGINE_DIED = 70
STOP_FORCED = 71
ENGINE_STALLED = 72
REQUEST_STUCK = 73
DRIVER_TOO_OLD = 74
NOT_READY_IN_TIME = 75
ENGINE_NOT_AS_PINNED = 76

# Starting again changes nothing about these: somebody has to mend something first.
PERMANENT = frozenset(
    {
        BAD_CONFIGURATION,
        BAD_CHECKPOINT,
        PLAN_DOES_NOT_FIT,
        DRIVER_TOO_OLD,
        ENGINE_NOT_AS_PINNED,
    }
)

MEANING = {
    OK: "stopped when asked, cleanly",
    BAD_CONFIGURATION: "the settings are wrong, or combine to something that cannot run",
    BAD_CHECKPOINT: "the model's or the drafter's directory is missing or damaged",
    PLAN_DOES_NOT_FIT: "one request at full context does not fit into the KV pool",
    NO_GPU_MEMORY: "no GPU, or other processes hold its memory",
    PORT_TAKEN: "the address cannot be listened on",
    ENGINE_DID_NOT_START: "the engine ended before it was ready",
    ENGINE_DIED: "the engine ended after it was ready",
    STOP_FORCED: "asked to stop, and the engine had to be killed",
    ENGINE_STALLED: "work was pending and no engine step ended within stall_timeout, "
    "or an idle engine did not answer /health for so long",
    REQUEST_STUCK: "a request stood still for request_timeout while the engine went on",
    DRIVER_TOO_OLD: "the NVIDIA driver is older than the engine's CUDA needs",
    NOT_READY_IN_TIME: "no token was generated within ready_timeout",
    ENGINE_NOT_AS_PINNED: "vLLM is missing, a patch is not applied, or a plugin failed to load",
}

# What to try, for whoever finds one of these in a log.
NEXT = {
    BAD_CONFIGURATION: "qwen3090 config show PROFILE",
    BAD_CHECKPOINT: "qwen3090 models verify",
    PLAN_DOES_NOT_FIT: "qwen3090 plan PROFILE",
    NO_GPU_MEMORY: "nvidia-smi, and end what holds the memory",
    PORT_TAKEN: "--set port=PORT",
    ENGINE_DID_NOT_START: "read the engine's last lines; qwen3090 verify PROFILE",
    ENGINE_DIED: "read the engine's last lines; with little memory left, lower kv_bytes",
    STOP_FORCED: "raise kill_timeout",
    ENGINE_STALLED: "nvidia-smi and dmesg: Xid errors, a card that hangs; else raise stall_timeout",
    REQUEST_STUCK: "read the engine's lines about the request; else raise request_timeout",
    DRIVER_TOO_OLD: "install a newer NVIDIA driver",
    NOT_READY_IN_TIME: "read the engine's lines; raise ready_timeout for a slow first start",
    ENGINE_NOT_AS_PINNED: "qwen3090 setup",
}


def help_text() -> str:
    """Return the table for ``--help``."""
    return "\n".join(f"{code:>3}  {text}" for code, text in MEANING.items())
