"""The same sampler interface through vLLM's V2 code: its speculators' sampling and its kernels.

Needs Triton: a GPU, or TRITON_INTERPRET=1 and the `interpret` folder on PYTHONPATH on a CPU.
"""

from types import SimpleNamespace

import numpy as np
import torch
from qwen3090_ops.sampling.drafts import DraftTruncation
from vllm.v1.worker.gpu.spec_decode.dflash2.speculator import DFlash2Speculator
from vllm.v1.worker.gpu.spec_decode.rejection_sampler_utils import rejection_sample
from vllm.v1.worker.gpu.spec_decode.speculator import DraftModelSpeculator

from draws.chains import CANDIDATES, VOCAB, Chain


class Kernels:
    """One chain served to requests ``seeds`` [requests] (int64) on ``device``.

    The drafter's and the target's forward passes are table look-ups; the rest is vLLM's.
    """

    def __init__(
        self, chain: Chain, seeds: np.ndarray, selector: bool, block: bool, device: str
    ) -> None:
        self.chain, self.selector, self.block, self.device = chain, selector, block, device
        requests, depth = len(seeds), chain.depth
        self.target = torch.from_numpy(chain.target).to(device)
        self.tables = torch.from_numpy(chain.raw_draft).to(device)
        self.candidates = torch.from_numpy(chain.candidates).to(device)
        self.scores = torch.from_numpy(chain.raw_scores).to(device)
        self.seeds = torch.from_numpy(seeds).to(device)
        self.temperature = torch.full((requests,), chain.temperature, device=device)
        self.draft_logits = torch.full((requests, depth, VOCAB), -torch.inf, device=device)
        truncation = None
        if chain.cut.drafts:
            truncation = DraftTruncation(requests, torch.device(device))
            truncation.top_k.fill_(chain.cut.top_k)
            truncation.top_p.fill_(chain.cut.top_p)
        self.speculator = SimpleNamespace(
            model=SimpleNamespace(compute_logits=lambda logits: logits),
            truncation=truncation,
            use_fp64_gumbel=False,
            num_speculative_steps=depth,
            selector_top_k=CANDIDATES,
            temperature=self.temperature,
            seeds=self.seeds,
            draft_logits=self.draft_logits,
            _cached_candidate_ids=torch.zeros(
                requests, depth, CANDIDATES, dtype=torch.int64, device=device
            ),
        )

    def _to(self, array: np.ndarray, dtype: torch.dtype = torch.int64) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device, dtype)

    def draft(self, rows: np.ndarray, last: np.ndarray, position: np.ndarray) -> np.ndarray:
        """Return drafts [rows, depth]; the proposal distribution is in ``draft_logits``."""
        walk = self._walk if self.selector else self._chained
        return walk(self._to(rows, torch.int32), self._to(last), self._to(position)).cpu().numpy()

    def _chained(
        self, rows: torch.Tensor, last: torch.Tensor, position: torch.Tensor
    ) -> torch.Tensor:
        """Draft as the MTP speculator does: its positions are one behind the verifying rows."""
        found = []
        for depth in range(self.chain.depth):
            last = DraftModelSpeculator.sample_draft(
                self.speculator,
                self.tables[depth, last],
                position + depth - 1,
                rows,
                self.temperature,
                self.seeds,
                torch.tensor(depth, device=self.device),
                self.draft_logits,
            )
            found.append(last)
        return torch.stack(found, dim=1)

    def _walk(self, rows: torch.Tensor, last: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        """Draft as the DFlash2 speculator does: its positions are those of the drafted tokens."""
        depths = torch.arange(self.chain.depth, device=self.device)
        ids = self.candidates[:, last].transpose(0, 1).contiguous()
        scores = self.scores[:, last].transpose(0, 1).contiguous()
        own = self.speculator
        own.sample_pos = (position[:, None] + depths + 1).flatten().contiguous()
        own.sample_idx_mapping = rows.repeat_interleave(self.chain.depth)
        own.draft_tokens = torch.zeros(ids.shape[:2], dtype=torch.int64, device=self.device)
        own._selector_scores = torch.zeros(ids.shape, device=self.device)
        DFlash2Speculator._sample_path(own, ids, scores, len(rows))
        DFlash2Speculator._cache_draft_logits(own, ids, ids.shape[0] * ids.shape[1])
        return own.draft_tokens

    def verify(
        self, rows: np.ndarray, last: np.ndarray, position: np.ndarray, drafts: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return sampled [rows, depth + 1] and how many of them count [rows]."""
        width = self.chain.depth + 1
        before = self._to(np.concatenate([last[:, None], drafts], axis=1).ravel())
        steps = torch.arange(width, device=self.device)
        index = self._to(rows, torch.int32)
        sampled, count = rejection_sample(
            self.target[before],
            self.draft_logits,
            before,
            torch.arange(len(rows) + 1, device=self.device, dtype=torch.int32) * width,
            (self._to(position)[:, None] + steps).flatten(),
            index,
            index.repeat_interleave(width),
            steps.to(torch.int32).repeat(len(rows)),
            self.temperature,
            self.seeds,
            self.chain.depth,
            use_block_verification=self.block,
        )
        return sampled.cpu().numpy(), count.cpu().numpy().astype(np.int64)
