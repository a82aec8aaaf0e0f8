"""The one error of the patch tools, so that callers can tell it from other user errors."""

from qwen3090.errors import UserError


class PatchError(UserError):
    """A patch, a series or a patched tree is not as it must be.

    Args:
        problem: what is wrong, naming patch, file, hunk and line where they are known.
        next_step: the command or edit that mends it.
        patch: the patch's file name, when one patch is at fault.
        path: the file inside the tree, when one file is at fault.
        hunk: the hunk's number in that file, from 1, when one hunk is at fault.
    """

    def __init__(
        self,
        problem: str,
        next_step: str | None = None,
        *,
        patch: str | None = None,
        path: str | None = None,
        hunk: int | None = None,
    ) -> None:
        super().__init__(problem, next_step)
        self.patch = patch
        self.path = path
        self.hunk = hunk
