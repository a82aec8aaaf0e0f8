"""Writes a checkpoint of the published sizes with known behaviour, for GPU checks to prepare.

usage: make_checkpoint.py DIR [--layers 64] [--device cuda]   (needs this project's cli on the path)

DIR/base is W4A16 with bf16 head, embedding and MTP module, text only; DIR/drafter an int4 DFlash2
drafter; DIR/ids.pt a draft vocabulary of 40,960 ids; walks.py writes and reads which token follows
which. The weights are random, but the head's row of a token's successor is the token's embedding,
so the model continues along a cycle, and so does the MTP module. The cycle runs through 8 ids of
the draft vocabulary, then 2 others: with four drafts and greedy decoding, a step emits 10/3 tokens
on average (4 + 1, 3 + 1, 0 + 1), and with the whole head 5.
The drafter's hidden state at a masked place is the mask's embedding and noise. The head's rows of
15 tokens of the ring (DIR/ring.pt) lean towards it, so they are the candidates everywhere, and the
selector's rows of a token and its successor are alike. The runs of those 15 are 7, 4, 3, 1 and 0
long: on the ring, greedy, a step of 7 drafts accepts as many by turns and emits 4 tokens on
average (20 in 5 steps); elsewhere nothing is accepted. What the context adds is noise: a wrong
context K/V, unlike wrong candidates, scores or anchors, leaves the drafts as they are.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from qwen3090.demo import configs, drafter_inventory, inventory, small_configs
from qwen3090.demo.dims import PUBLISHED, Dims
from safetensors.torch import save_file
from walks import Walks, draftable

TYPES = {"BF16": torch.bfloat16, "F16": torch.float16, "I32": torch.int32, "I64": torch.int64}
ADDS = ("o_proj", "out_proj", "down_proj")
LEAN = 0.5  # the mask's embedding in a draftable token's row of the head, the predecessor's being 1
MATCH = 64.0  # score of a successor after its predecessor; others': noise of MATCH / rank ** 0.5


class Maker:
    """Random tensors by name.

    What all layers together add to a stream that begins with 1 is at most ``sum of gain ** 2``: 4
    in the model, and 1 / 4 in the drafter, whose hidden state is to remain the mask's embedding.
    """

    def __init__(self, dims: Dims, device: str) -> None:
        self.dims, self.device = dims, device
        self.random = torch.Generator(device).manual_seed(1)
        self.walks = Walks.make(dims)
        self.successor = torch.tensor(self.walks.successor, device=device)
        table = self.normal(dims.vocab, dims.hidden)
        self.embedding = table.to(torch.bfloat16)
        about = small_configs.drafter(dims)["dflash_config"]
        self.mask = self.embedding[about["mask_token_id"]]
        self.predecessors = self.normal(
            dims.vocab, dims.selector_rank, std=(MATCH / dims.selector_rank) ** 0.5
        )

    def gain(self, name: str) -> float:
        """Return the size of what one half of the layer of ``name`` adds to the stream."""
        if of_drafter(name):
            return 0.5 / (2 * self.dims.draft_layers) ** 0.5
        return 2.0 / (2 * self.dims.layers) ** 0.5

    def normal(self, *shape: int, std: float = 1.0) -> torch.Tensor:
        return torch.randn(*shape, generator=self.random, device=self.device) * std

    def head(self) -> torch.Tensor:
        rows = torch.empty_like(self.embedding)
        scale = 0.3 / self.dims.hidden**0.5
        rows[self.successor] = self.embedding * scale
        ring = zip(self.walks.ring, draftable(), strict=True)
        rows[[token for token, can in ring if can]] += self.mask * (LEAN * scale)
        return rows

    def tensor(self, name: str, spec: inventory.Spec, of: inventory.Inventory) -> torch.Tensor:
        """Return one tensor on the CPU."""
        stem, _, field = name.rpartition(".")
        if field == "weight_shape":
            packed = of[stem + ".weight_packed"].shape
            return torch.tensor([packed[0], packed[1] * 8], dtype=torch.int64)
        if field == "weight_packed":
            made = torch.randint(
                -(2**31), 2**31, spec.shape, generator=self.random, device=self.device
            )
        elif field == "weight_scale":
            gain = self.gain(name) if stem.endswith(ADDS) else 1.0
            made = self.normal(*spec.shape)
            size = 1 + 0.1 * made.abs()
            made = made.sign() * size * (gain / 4.6 / (128 * spec.shape[1]) ** 0.5)
        elif name == "lm_head.weight":
            made = self.head()
        elif name.endswith("embed_tokens.weight"):
            made = self.embedding
        else:
            made = self.plain(name, spec.shape)
        return made.to(TYPES[spec.dtype]).cpu()

    def plain(self, name: str, shape: tuple[int, ...]) -> torch.Tensor:
        last = name.removesuffix(".weight").rsplit(".", 1)[-1]
        if name.startswith("candidate_selector."):
            return self.selector(last, shape)
        if name == "mtp.fc.weight":  # the token's half passes, the hidden state's is noise
            halves = self.normal(*shape, std=0.1 / shape[1] ** 0.5)
            halves[:, : shape[0]] += torch.eye(shape[0], device=self.device)
            return halves
        if last == "base_kernel":
            kernel = torch.zeros(shape, device=self.device)
            kernel[:, 0] = 1.0
            return kernel
        if len(shape) == 1:
            centre = {"A_log": 1.4, "dt_bias": -4.0}.get(last, 0.0)
            ones = of_drafter(name) or name.endswith("linear_attn.norm.weight")
            return self.normal(*shape, std=0.05) + (1.0 if ones else centre)
        std = shape[-1] ** -0.5
        if last == "conv1d":
            std = 0.5
        elif last.endswith(ADDS):
            std *= self.gain(name)
        elif last == "kernel_projection":
            std *= 0.05
        return self.normal(*shape, std=std)

    def selector(self, last: str, shape: tuple[int, ...]) -> torch.Tensor:
        """Return a tensor of the selector: a token's rows say who precedes it, and whom it does."""
        if last == "predecessor_codebook":
            return self.predecessors
        if last == "successor_codebook":
            rows = torch.empty_like(self.predecessors)
            rows[self.successor] = self.predecessors
            return rows
        noise = self.normal(*shape, std=0.2 / shape[1] ** 0.5)
        return noise + self.mask / shape[1]  # the mask's embedding becomes 1 in each place

    def write(self, path: Path, of: inventory.Inventory) -> None:
        made = {name: self.tensor(name, spec, of).contiguous() for name, spec in of.items()}
        save_file(made, path, metadata={"format": "pt"})
        print(f"{path.name}: {len(made)} tensors, {path.stat().st_size:,} bytes", flush=True)


def of_drafter(name: str) -> bool:
    return not name.startswith(("model.", "mtp."))


def text_config(dims: Dims) -> dict[str, Any]:
    """Return config.json of the text-only architecture."""
    whole = configs.model(dims, configs.base_quantization(dims))
    text: dict[str, Any] = whole["text_config"]
    text["quantization_config"] = whole["quantization_config"]
    text["architectures"] = ["Qwen3_5ForCausalLM"]
    rope = text["rope_parameters"].items()
    text["rope_parameters"] = {key: value for key, value in rope if "mrope" not in key}
    return text


def write_tokenizer(folder: Path) -> None:
    from tokenizers import Tokenizer, models

    Tokenizer(models.WordLevel({"<unk>": 0, "a": 1}, unk_token="<unk>")).save(
        str(folder / "tokenizer.json")
    )
    about = {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "<unk>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(about))
    (folder / "generation_config.json").write_text("{}")


def make(directory: Path, dims: Dims, device: str) -> None:
    """Write base/, drafter/ and what walks.py reads into ``directory``.

    Raises:
        FileExistsError: there is one already.
    """
    base, drafter = directory / "base", directory / "drafter"
    base.mkdir(parents=True)
    drafter.mkdir()
    maker = Maker(dims, device)
    maker.walks.save(directory)
    for name, shard in inventory.base_files(dims):
        text = {key: spec for key, spec in shard.items() if not key.startswith("model.visual.")}
        if text:
            maker.write(base / name, text)
    (base / "config.json").write_text(json.dumps(text_config(dims), indent=2))
    write_tokenizer(base)
    maker.write(drafter / "model.safetensors", drafter_inventory.drafter(dims, int4=True))
    (drafter / "config.json").write_text(json.dumps(small_configs.drafter_int4(dims), indent=2))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--layers", type=int, default=PUBLISHED.layers)
    parser.add_argument("--device", default="cuda")
    given = parser.parse_args()
    dims = PUBLISHED
    if given.layers != dims.layers:
        spread = tuple(1 + n * (given.layers - 3) // 4 for n in range(5))
        dims = replace(PUBLISHED, layers=given.layers, draft_targets=spread)
    make(given.directory, dims, given.device)


if __name__ == "__main__":
    main()
