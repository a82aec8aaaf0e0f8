"""A short vocabulary for MTP drafts: the drafter multiplies by N rows instead of the whole head.

The checkpoint directory holds the token ids (`mtp_draft_vocab_ids.pt`) and the rows of the head
that belong to them (`mtp.draft_lm_head.*`). vLLM's MTP model calls this module when both are
meant to be used; a token outside the list is simply never drafted, so output does not change.
"""

from pathlib import Path
from typing import Any

import torch

from qwen3090_ops.knobs import switch

IDS_FILE = "mtp_draft_vocab_ids.pt"
_OFF = '--additional-config \'{"qwen3090": {"mtp_draft_vocab": false}}\''
_AGAIN = "run `qwen3090 prepare` on the base again, or switch the list off with " + _OFF


def ids_path(model_dir: str, additional_config: Any) -> Path | None:
    """Return the ids file to use, or None when there is none or the user switched it off.

    Args:
        model_dir: the checkpoint's directory; a name that is no directory has no list.
        additional_config: vLLM's additional_config; ``{"qwen3090": {"mtp_draft_vocab": false}}``
            switches the list off.

    Raises:
        ValueError: the switch is not a boolean, or the table is not a table.
    """
    wanted = switch(additional_config, "mtp_draft_vocab", True)
    path = Path(model_dir) / IDS_FILE
    return path if wanted and path.is_file() else None


def load_ids(path: Path, vocab_size: int) -> torch.Tensor:
    """Read and check a list of token ids.

    Returns:
        int64 [N], sorted, unique, each in 0 .. vocab_size - 1; on the CPU.

    Raises:
        ValueError: the file cannot be read, or is not such a list.
    """
    try:
        ids = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise ValueError(f"{path} cannot be read as a tensor ({error}); {_AGAIN}") from error
    if not isinstance(ids, torch.Tensor) or ids.dtype != torch.int64 or ids.dim() != 1:
        found = f"{ids.dtype} {tuple(ids.shape)}" if isinstance(ids, torch.Tensor) else type(ids)
        raise ValueError(f"{path} must hold one int64 tensor [N], it holds {found}; {_AGAIN}")
    if ids.numel() == 0 or bool((ids[1:] <= ids[:-1]).any()):
        raise ValueError(f"{path} must hold at least one id, sorted and unique; {_AGAIN}")
    if int(ids[0]) < 0 or int(ids[-1]) >= vocab_size:
        raise ValueError(
            f"{path} holds ids {int(ids[0])} .. {int(ids[-1])}, the vocabulary has "
            f"{vocab_size} tokens; {_AGAIN}"
        )
    return ids


class DraftVocab:
    """The list of one checkpoint, the checks of its head, and the way back to the full vocabulary.

    Args:
        path: the ids file.
        vocab_size: tokens of the full vocabulary.

    Raises:
        ValueError: see ``load_ids``.
    """

    def __init__(self, path: Path, vocab_size: int) -> None:
        self.path = path
        self.vocab_size = vocab_size
        self.ids = load_ids(path, vocab_size)
        self._seen: set[str] = set()

    @property
    def size(self) -> int:
        """Number of tokens in the list (N)."""
        return self.ids.numel()

    def check_tensor(self, name: str, tensor: torch.Tensor, head: torch.nn.Module) -> None:
        """Compare one ``draft_lm_head`` tensor of the checkpoint with the list and the layer.

        Raises:
            ValueError: wrong number of rows, wrong width (other bits), or no such parameter.
        """
        field = name.rsplit(".", 1)[-1]
        parameter = dict(head.named_parameters(recurse=False)).get(field)
        if parameter is None:
            raise ValueError(
                f"{name}: quantization_config gives the draft head other parameters "
                f"({', '.join(n for n, _ in head.named_parameters(recurse=False))}); {_AGAIN}"
            )
        self._seen.add(field)
        rows = int(tensor[0]) if field == "weight_shape" else tensor.shape[0]
        if rows != self.size:
            raise ValueError(
                f"{name} has {rows} rows, {self.path} lists {self.size} token ids; {_AGAIN}"
            )
        if field != "weight_shape" and tensor.shape[1:] != parameter.shape[1:]:
            raise ValueError(
                f"{name} is {tuple(tensor.shape)}, quantization_config asks for rows of "
                f"{tuple(parameter.shape[1:])}: the draft head has other bits than the "
                f"config says; {_AGAIN}"
            )

    def finish_loading(self, head: torch.nn.Module) -> None:
        """Make sure that every parameter of the head was loaded, and move the ids to its device.

        Raises:
            ValueError: some are missing, so the head would draft from uninitialised memory.
        """
        parameters = dict(head.named_parameters(recurse=False))
        if missing := sorted(set(parameters) - self._seen):
            raise ValueError(
                f"{self.path} is there, but the checkpoint lacks "
                f"{', '.join('mtp.draft_lm_head.' + name for name in missing)}; {_AGAIN}"
            )
        self.ids = self.ids.to(next(iter(parameters.values())).device)

    def full_logits(self, logits: torch.Tensor) -> torch.Tensor:
        """Scatter [rows, N] logits into [rows, vocab_size]; tokens outside the list get -inf.

        A fresh tensor each time: callers divide and mask logits in place and keep those of
        several draft steps, so a shared buffer would alias them. The fill is 0.5 MB a row in
        bf16, and under CUDA graphs the allocation belongs to the graph.
        """
        full = logits.new_full((*logits.shape[:-1], self.vocab_size), float("-inf"))
        return full.index_copy_(-1, self.ids, logits)

    def full_ids(self, positions: torch.Tensor) -> torch.Tensor:
        """Map positions in the list, integer [rows], to token ids, int64 [rows]."""
        return self.ids[positions]
