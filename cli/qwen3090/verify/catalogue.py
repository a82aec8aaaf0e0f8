"""Every check of ``verify``: what it proves and what mends it (docs/reference/verify.md prints it).

A name that ends in ``.*`` stands for a family (one finding a patch, a hook, a rule). ``engine``
marks what is about the engine itself: none of these may pass on a stock vLLM (see ``gate``).
"""

from dataclasses import dataclass
from functools import cache

SETUP = "qwen3090 setup"
REPAIR = "qwen3090 setup --repair"
APPLY = "qwen3090 patches apply"
PREPARE = "qwen3090 prepare BASE --out DIRECTORY"
FETCH = "qwen3090 models fetch"
SHOW = "qwen3090 config show PROFILE"
RESTART = "restart the server; if that does not help: qwen3090 patches apply"
AGAIN = "start the server with these settings: qwen3090 serve PROFILE"


@dataclass(frozen=True)
class Check:
    """One check.

    Attributes:
        name: the finding's name, or its beginning and ``.*``.
        proves: what a PASS says.
        next: the command below a FAIL; a finding may name a narrower one.
        engine: whether it is about the engine, so that a stock one must not pass it.
    """

    name: str
    proves: str
    next: str
    engine: bool = False


@dataclass(frozen=True)
class Section:
    """Checks that are made together, under one heading."""

    title: str
    when: str
    checks: tuple[Check, ...]


INSTALLATION = Section(
    "Installation",
    "Always. `--quick` compares sizes alone; `--hashes` reads the large files too.",
    (
        Check("environment.lock", "`wheels.json` can be read", "git checkout nix/wheels.json"),
        Check("environment.python", "the lock covers this Python", "make clean setup PYTHON=..."),
        Check("environment.engine", "an engine is installed: the patched one", SETUP, True),
        Check("environment.packages", "every locked package is there, in its version", SETUP),
        Check("environment.wheels", "each came from the wheel with the lock's sha256", SETUP),
        Check(
            "environment.files",
            "every file has the digest of its wheel's RECORD (vLLM's own: see Series)",
            "python -m pip uninstall --yes NAME; qwen3090 setup",
        ),
        Check("environment.foreign", "no package beside the locked ones", "pip uninstall NAME"),
        Check(
            "cuda.toolchain",
            "compiler, headers (curand's too) and runtime of the pinned CUDA (GPU engine)",
            "qwen3090 setup --engine cuda",
        ),
        Check(
            "cache.*",
            "the caches of compiled kernels can be written, and have room",
            "chown the directory, or free space",
        ),
    ),
)
SERIES = Section(
    "Series and ops",
    "Always; the hooks not with `--quick`.",
    (
        Check("series", "the series and the tree can be read", APPLY, True),
        Check("series.outside", "nothing of vLLM differs but by the series", REPAIR, True),
        Check("series.note", "nothing limits the proof", APPLY, True),
        Check("series.*", "a patch is in, by content: it can be taken out", APPLY, True),
        Check("ops", "the plugin's hooks were asked for", REPAIR, True),
        Check("ops.plugin", "the plugin's self-test ran in a fresh process", REPAIR, True),
        Check("ops.*", "a hook is active by what vLLM's registries return", REPAIR, True),
    ),
)
SETTINGS = Section(
    "Settings",
    "Always; the default profile's without a PROFILE.",
    (
        Check("settings", "the settings can be read and served together", SHOW),
        Check("settings.key", "the key's file is private and holds a key", "chmod 600 FILE"),
        Check("settings.plan", "one request at full context fits", "qwen3090 plan PROFILE"),
        Check(
            "settings.prefix-cache",
            "prefix hits end where every group of the cache can resume",
            "qwen3090 plan PROFILE",
        ),
        Check(
            "settings.graphs",
            "every number of decoding requests has a CUDA graph",
            "--set graph_sizes=N",
        ),
        Check(
            "unit",
            "systemd runs `qwen3090.service`; a failure is named by our exit status",
            "journalctl -u qwen3090.service -n 50",
        ),
        Check(
            "unit.model",
            "`qwen3090-model.service` has fetched and prepared",
            "journalctl -u qwen3090-model.service -n 50",
        ),
    ),
)
CHECKPOINT = Section(
    "Checkpoint",
    "With a PROFILE or `--model`; not with `--quick`. `--hashes` compares every digest.",
    (
        Check("checkpoint", "the directory is there", PREPARE),
        Check("checkpoint.path", "its path names no drafting method", "mv DIRECTORY NAME"),
        Check("checkpoint.rules", "every rule below holds; says the bits of each part", PREPARE),
        Check("checkpoint.files", "headers, index and shards can be read and agree", FETCH),
        Check("checkpoint.manifest", "every file is there, of the size prepare noted", PREPARE),
        Check("checkpoint.config", "`config.json` is there", PREPARE),
        Check("checkpoint.index", "the index lists every tensor", PREPARE),
        Check("checkpoint.missing", "no layer, module or part of one is missing", FETCH),
        Check("checkpoint.duplicate", "no module is there twice", "remove the other file"),
        Check("checkpoint.layout", "packed weights are I32, shapes I64", PREPARE),
        Check("checkpoint.shape", "shapes are what `config.json` wants", PREPARE),
        Check("checkpoint.bits", "bits of a module are what its group says", PREPARE),
        Check("checkpoint.targets", "each group names modules that exist", PREPARE),
        Check("checkpoint.scale-dtype", "group scales have the dtype the engine reads", PREPARE),
        Check("checkpoint.dtype", "plain weights are floats", FETCH),
        Check("checkpoint.plain", "head, embedding and MTP are quantized", PREPARE),
        Check(
            "checkpoint.draft-vocab",
            "int64, sorted, unique, in range; as many rows and bits as the head's slice",
            PREPARE,
        ),
        Check(
            "checkpoint.tokenizer",
            "`<think>` and the other markers are one added token each",
            FETCH,
        ),
        Check("checkpoint.end-tokens", "answers end at tokens that exist", FETCH),
    ),
)
DRAFTER = Section(
    "Drafter",
    "With a PROFILE that uses one, or `--drafter`.",
    (
        Check("drafter", "the directory is there", "qwen3090 up PROFILE --no-serve"),
        Check("drafter.files", "every file is whole", "qwen3090 models fetch --variant drafter"),
        Check("drafter.architecture", "a DFlash2 drafter", "--set drafter=DIRECTORY"),
        Check("drafter.block", "its block holds the drafts and their anchor", "--set draft_tokens"),
        Check("drafter.quantization", "compressed-tensors", "qwen3090 models fetch"),
        Check("drafter.fits", "width, vocabulary and layers are the model's", "--set drafter="),
        Check("drafter.layers", "it reads layers that the model has", "--set drafter=DIRECTORY"),
    ),
)
LIVE = Section(
    "Live",
    "With `--live`. What the server does, then what its worker reports on `/qwen3090/engine`.",
    (
        Check("live", "the other live checks had a server to ask", AGAIN, True),
        Check("live.health", "`/health` answers", "systemctl status qwen3090; " + AGAIN, True),
        Check("live.auth", "401 without the key, on every guarded route", AGAIN, True),
        Check("live.model", "the model is served under its name", AGAIN, True),
        Check("live.token", "a token was generated", "journalctl -u qwen3090.service -n 50", True),
        Check(
            "live.tokens-per-step",
            "drafts are verified and accepted, over one greedy answer",
            "qwen3090 verify PROFILE  # checkpoint, drafter and draft vocabulary",
            True,
        ),
        Check("live.report", "the worker reports what it uses", AGAIN, True),
        Check("live.series", "the engine loaded this very series", RESTART, True),
        Check("live.ops", "the engine reports its hooks", f"{REPAIR}; restart", True),
        Check("live.ops.*", "a hook is active inside the engine", f"{REPAIR}; restart", True),
        Check("live.versions", "vLLM and torch are the pinned ones", f"{SETUP}; restart", True),
        Check("live.device", "it runs on the profile's device", AGAIN, True),
        Check("live.memory", "the card has memory left", SHOW, True),
        Check("live.settings", "limits and modes are the profile's", AGAIN, True),
        Check("live.prefix-cache", "prefix caching as the profile says", AGAIN, True),
        Check("live.runner", "the profile's model runner", AGAIN, True),
        Check("live.knobs", "our knobs reached the engine", AGAIN, True),
        Check("live.attention", "the profile's attention kernels, in every layer", AGAIN, True),
        Check("live.drafter-attention", "the same for the drafter", AGAIN, True),
        Check("live.recurrent", "recurrent state of the profile's dtype", AGAIN, True),
        Check("live.kv-cache", "KV cache formats of target and drafter", AGAIN, True),
        Check(
            "live.pool",
            "blocks, tokens, bytes and groups equal `qwen3090 plan`",
            "qwen3090 plan PROFILE",
            True,
        ),
        Check("live.graphs", "decode steps of every size have a captured graph", AGAIN, True),
        Check("live.drafter-graphs", "so do the drafter's", AGAIN, True),
        Check("live.linears", "packed kernels, with the checkpoint's bits", AGAIN, True),
        Check("live.head", "the head is quantized as the checkpoint's", AGAIN, True),
        Check("live.embedding", "the embedding is looked up packed", AGAIN, True),
        Check("live.drafter-linears", "the same for the drafter, which shares both", AGAIN, True),
        Check("live.speculation", "drafting method and draft tokens", AGAIN, True),
        Check("live.sampling", "how drafts are picked and verified", AGAIN, True),
        Check("live.draft-vocabulary", "the reduced vocabulary is in use", AGAIN, True),
    ),
)
SECTIONS = (INSTALLATION, SERIES, SETTINGS, CHECKPOINT, DRAFTER, LIVE)
CATALOGUE = tuple(check for section in SECTIONS for check in section.checks)


@cache
def entry(name: str) -> Check:
    """Return the check that a finding belongs to: its own name, else the longest family.

    Raises:
        KeyError: a check that the catalogue does not know.
    """
    families = [c for c in CATALOGUE if c.name.endswith(".*") and name.startswith(c.name[:-1])]
    own = [c for c in CATALOGUE if c.name == name]
    found = own or sorted(families, key=lambda c: len(c.name), reverse=True)
    if not found:
        raise KeyError(name)
    return found[0]
