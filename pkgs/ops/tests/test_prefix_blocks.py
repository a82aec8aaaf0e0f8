"""Prefix caching in align mode when the groups of the KV cache have blocks of different sizes.

vLLM's own scheduler and cache managers serve made-up requests; the worker's memory holds the
fingerprint of each prefix and checks every read (support/blocks). So a state that is filed under
a prefix it does not end at, or a request that resumes from one, is found at any length.
"""

import random
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent / "support"))

pytest.importorskip("vllm")
from blocks.layout import Layout
from blocks.memory import WrongRead
from blocks.serve import Served

pytestmark = [pytest.mark.engine, pytest.mark.slow]

HALF: dict[str, Any] = {"window": 16}  # int4 target, int8 drafter: 1,696 and 848
LAYOUTS: dict[str, dict[str, Any]] = {
    "half": HALF,
    "apart": {"state": 24, "attention": 24, "window": 10},  # 1,696 and 448: no small multiple
    "equal": {"window": 32},
    "wider": {"window": 64},
    "mtp": {"window": 0},
    "attention-apart": {"attention": 64},
}
# What vLLM 0.28.0 does with the patches before 0302.
EQUAL = [
    ("r0", 0, 64), ("r0", 64, 128), ("r0", 128, 160), ("r1", 64, 96), ("r0", 160, 200),
    ("r1", 96, 128), ("r1", 128, 150), ("r2", 160, 224), ("r2", 224, 270), ("r3", 64, 100),
]  # fmt: skip
EQUAL_HITS = [0, 64, 160, 64]
STEPS = [(0, False), (0, True), (3, False), (3, True)]


def text(length: int, seed: float) -> list[int]:
    rng = random.Random(seed)
    return [rng.randrange(100) for _ in range(length)]


def ends_are_right(served: Served, lengths: dict[str, int]) -> None:
    """Check that each prefill step ends on a state block, at the prompt's end or its last hash."""
    state, unit = served.layout.state, served.scheduler.hash_block_size
    for name, _, end in served.chunks:
        length = lengths[name]
        assert end % state == 0 or end in (length, length // unit * unit), (name, end, length)


@pytest.mark.parametrize(("drafts", "overlap"), STEPS)
@pytest.mark.parametrize("name", LAYOUTS)
def test_every_residue(name: str, drafts: int, overlap: bool, tmp_path: Path) -> None:
    layout = Layout(**LAYOUTS[name], drafts=drafts, overlap=overlap)
    served = Served(layout, tmp_path)
    lengths: dict[str, int] = {}
    multiple = served.scheduler.block_size
    residues = range(0, layout.state, 1 if name == "half" else 5)
    for length in (2 * layout.state + residue for residue in residues):
        prompt = text(4 * layout.state, length)[: layout.state] + text(length, length)
        first = served.serve([prompt], 20)
        again = served.serve([prompt, [*first[0].all_token_ids, *text(70, -length)]], 20)
        lengths |= {r.request_id: r.num_prompt_tokens for r in (*first, *again)}
        served.states()
        margin = max(layout.window, layout.attention, layout.state) if drafts else 0
        reachable = (len(prompt) - 1 - margin) // multiple * multiple
        assert served.hits[again[1].request_id] >= reachable
    ends_are_right(served, lengths)


@pytest.mark.parametrize(("drafts", "overlap"), STEPS)
@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("changes", [{}, {"blocks": 90}, {"budget": 28}, {"budget": 34}], ids=str)
def test_traffic(
    name: str, drafts: int, overlap: bool, changes: dict[str, int], tmp_path: Path
) -> None:
    """Prefills beside decodes, shared beginnings, follow-ups, few blocks, and narrow steps."""
    layout = Layout(**LAYOUTS[name], **changes, drafts=drafts, overlap=overlap)
    hits = 0
    for seed in range(3):
        rng, base = random.Random(seed), text(400, seed)
        served, done = Served(layout, tmp_path, seed), list[Any]()
        for _ in range(3):
            prompts = []
            for _ in range(rng.randint(1, 5)):
                if done and rng.random() < 0.5:
                    start = list(rng.choice(done).all_token_ids)
                else:
                    start = base[: rng.randint(1, 300)]
                prompts.append(start + text(rng.randint(1, 60), rng.random()))
            done += served.serve(prompts, rng.randint(1, 60), rng.randint(0, 4))
            served.states()
        hits += sum(served.hits.values())
    assert hits


@pytest.mark.parametrize(
    ("state", "window", "hits"),
    [
        (1696, 848, [0, 6784, 1696, 6784, 4240]),
        (1696, 448, [0, 0, 0, 0, 0]),  # they meet at 23,744
        (448, 448, [0, 8512, 3584, 8512, 4032]),
    ],
)
def test_the_sizes_of_the_profiles(
    state: int, window: int, hits: list[int], tmp_path: Path
) -> None:
    layout = Layout(state, state, window, 2048, drafts=7, budget=2048, overlap=True, blocks=4000)
    served = Served(layout, tmp_path)
    prompt = text(9000, 1)
    first = served.serve([prompt], 30)
    longer = [*first[0].all_token_ids, *text(300, 4)]
    branch = prompt[:4500] + text(50, 3)
    then = served.serve([prompt, branch, longer, prompt[:5100]], 30, apart=1)
    served.states()
    assert list(served.hits.values()) == hits
    ends_are_right(served, {r.request_id: r.num_prompt_tokens for r in (*first, *then)})


def test_blocks_that_meet_late_are_hit_where_they_meet(tmp_path: Path) -> None:
    layout = Layout(1696, 1696, 448, 2048, drafts=7, budget=2048, overlap=True, blocks=4000)
    served = Served(layout, tmp_path)
    prompt = text(30_000, 1)
    served.serve([prompt])
    served.serve([prompt, prompt[:23_744] + text(2000, 2)])
    served.states()
    assert list(served.hits.values()) == [0, 23_744, 0]


def test_equal_blocks_are_served_as_without_the_patches(tmp_path: Path) -> None:
    served = Served(Layout(window=32, drafts=3, overlap=True), tmp_path)
    prompt = text(200, 1)
    served.serve([prompt, prompt[:150]], 20, apart=2)
    served.serve([prompt + text(70, 2), prompt[:100]], 20)
    assert served.chunks == EQUAL
    assert list(served.hits.values()) == EQUAL_HITS


@pytest.mark.parametrize("where", ["scheduler", "model state"])
def test_the_smallest_block_is_found_out(where: str, tmp_path: Path) -> None:
    """What vLLM does without patches 0302 and 0303 does not pass unseen."""
    served = Served(Layout(**HALF), tmp_path)
    if where == "scheduler":
        served.scheduler.mamba_block_size = served.scheduler.cache_config.block_size
    else:
        served.scheduler.cache_config.mamba_block_size = served.scheduler.cache_config.block_size
    prompt = text(120, 1)
    with pytest.raises((WrongRead, IndexError)):
        for _ in range(2):
            served.serve([prompt], 20)
            served.states()


def test_a_tail_is_filed_once(tmp_path: Path) -> None:
    """With a step in flight, a prompt of whole hash blocks is cached twice; 0304."""
    served = Served(Layout(**HALF, overlap=True), tmp_path)
    served.serve([text(112, 1)], 20)
    assert 112 in served.states()
    served.serve([text(112, 1) + text(9, 2)])
    assert list(served.hits.values()) == [0, 112]


@pytest.mark.parametrize("budget", range(32, 37))
@pytest.mark.parametrize("window", [16, 32])
def test_a_step_that_holds_a_block_but_not_the_drafts_beside_it(
    window: int, budget: int, tmp_path: Path
) -> None:
    """The drafter's slots count as tokens of a step; without 0305 no prompt is ever scheduled."""
    served = Served(Layout(window=window, drafts=3, budget=budget), tmp_path)
    prompt = text(120, 1)
    for _ in range(2):
        served.serve([prompt], 20)
        served.states()
    assert list(served.hits.values()) == [0, 96 if window == 16 else 64]


@pytest.mark.parametrize("overlap", [False, True])
@pytest.mark.parametrize("name", ["half", "mtp"])
def test_a_decode_without_drafts_goes_on_from_the_accepted_state(
    name: str, overlap: bool, tmp_path: Path
) -> None:
    """At the end of the context nothing is left for drafts; every residue of a block; 0243."""
    layout = Layout(**LAYOUTS[name], drafts=3, overlap=overlap, context=160, budget=170)
    served = Served(layout, tmp_path)
    for length in range(96, 128):
        done = served.serve([text(length, length), text(length + 9, -length)], 160)
        assert [len(request.all_token_ids) for request in done] == [160, 160]
        served.states()
    assert served.worker.bare > 10


@pytest.mark.parametrize("name", LAYOUTS)
def test_drafts_that_a_grammar_refuses(name: str, tmp_path: Path) -> None:
    """A step may then end in the block before that of the last one's rejected drafts."""
    layout = Layout(**LAYOUTS[name], drafts=3, cut=True)
    served = Served(layout, tmp_path)
    for seed in range(4):
        served.serve([text(90 + place, seed) for place in range(seed, 8, 2)], 150, apart=1)
        served.states()
    assert served.worker.bare > 100


@pytest.mark.parametrize("overlap", [False, True])
def test_a_prompt_of_one_token_beside_decodes_is_one_token(overlap: bool, tmp_path: Path) -> None:
    """vLLM would add drafts to it, which a recurrent state takes for tokens of the prompt."""
    served = Served(Layout(**LAYOUTS["mtp"], drafts=3, overlap=overlap), tmp_path)
    served.serve([text(50, 1), [7]], 40, apart=4)
    assert served.chunks[-1] == ("r1", 0, 1)
    served.states()
