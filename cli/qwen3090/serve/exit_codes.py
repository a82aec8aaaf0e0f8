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
NOT_READY_IN_TIME = 75
ENGINE_NOT_AS_PINNED = 76

# Starting again changes nothing about these: somebody has to mend something first.
PERMANENT = frozenset({BAD_CONFIGURATION, BAD_CHECKPOINT, PLAN_DOES_NOT_FIT, ENGINE_NOT_AS_PINNED})

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
    NOT_READY_IN_TIME: "no token was generated within ready_timeout",
    ENGINE_NOT_AS_PINNED: "vLLM is missing, a patch is not applied, or a plugin failed to load",
}


def help_text() -> str:
    """Return the table for ``--help``."""
    return "\n".join(f"{code:>3}  {text}" for code, text in MEANING.items())
