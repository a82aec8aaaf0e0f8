"""What the driver's Xid numbers mean and what to do, after NVIDIA's Xid catalog, in short.

Source: docs.nvidia.com/deploy/xid-errors; the numbers that a GeForce card of this generation logs.
"""

from typing import Literal, NamedTuple

# Whose fault: the program that ran (or the driver's), the card's own, or nobody's.
Blame = Literal["program", "card"]


class Meaning(NamedTuple):
    """What an Xid stands for, whom to look at, and what to do."""

    text: str
    blame: Blame
    todo: str


_RESTART = "restart the server; the same again: report it (qwen3090 doctor --report -)"
_RESET = "sudo reboot; the same again: test the card in another machine"
_CABLES = (
    "power off; reseat the card, its power cables and riser; a lower limit: nvidia-smi -pl 250"
)
_MEMORY = "sudo reboot (retires the cells); the same again: the card's memory is failing"
_DRIVER = "update the driver, then sudo reboot"

MEANINGS: dict[int, Meaning] = {
    8: Meaning("the card stopped working on a task", "program", _RESTART),
    13: Meaning("a kernel faulted: bad address or instruction", "program", _RESTART),
    31: Meaning("a program read or wrote memory that is not its own", "program", _RESTART),
    32: Meaning("commands to the card arrived damaged: bus or driver", "card", _CABLES),
    38: Meaning("the card's firmware faulted", "card", _DRIVER),
    43: Meaning("a program's channel was reset after its own fault", "program", _RESTART),
    44: Meaning("a context switch faulted", "card", _RESET),
    45: Meaning(
        "work was cancelled: a program ended, or another Xid came first", "program", _RESTART
    ),
    46: Meaning("the card did not stop working when told to", "card", _RESET),
    48: Meaning("a memory error that could not be corrected", "card", _MEMORY),
    56: Meaning("the display engine faulted", "card", _DRIVER),
    57: Meaning("the memory link failed in training", "card", _RESET),
    58: Meaning("an unstable memory clock: reset overclocking", "card", _RESET),
    61: Meaning("the card's microcontroller stopped at a breakpoint", "card", _RESET),
    62: Meaning("the card's microcontroller halted", "card", _RESET),
    63: Meaning("memory cells were marked for replacement", "card", _MEMORY),
    64: Meaning("memory cells could not be marked for replacement", "card", _MEMORY),
    68: Meaning("the video engine faulted", "program", _RESTART),
    69: Meaning("a wrong command to the graphics engine", "program", _RESTART),
    74: Meaning("the link between cards failed", "card", _CABLES),
    79: Meaning("the card has fallen off the bus: power, heat, slot or riser", "card", _CABLES),
    92: Meaning("many memory errors were corrected in a short time", "card", _MEMORY),
    94: Meaning("a memory error was kept to one program, which ended", "card", _MEMORY),
    95: Meaning("a memory error could not be kept to one program", "card", _MEMORY),
    109: Meaning("a context switch took too long", "program", _RESTART),
    119: Meaning("the card's system processor (GSP) did not answer", "card", _DRIVER),
    120: Meaning("the card's system processor (GSP) reported an error", "card", _DRIVER),
    140: Meaning("a memory error that could not be corrected (ECC)", "card", _MEMORY),
    143: Meaning("the card could not be started", "card", _CABLES),
    154: Meaning("the driver says what is needed now: see the line", "card", _RESET),
}
