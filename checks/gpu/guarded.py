"""Device tensors between unmapped addresses: an access outside of one faults, without a sanitizer.

CUDA's virtual memory management (cuMemAddressReserve, cuMemMap) gives a range of which only the
middle is backed by memory; compute-sanitizer is not available under every container runtime.
"""

import ctypes
from functools import cache
from typing import Any, Literal

import torch

GUARD = 64 << 20  # bytes before and behind, a multiple of the granularity
DEVICE, PINNED, READ_WRITE = 1, 1, 3  # CUmemLocationType, CUmemAllocationType, CUmemAccess_flags


class Location(ctypes.Structure):
    """CUmemLocation."""

    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


class Allocation(ctypes.Structure):
    """CUmemAllocationProp."""

    _fields_ = [
        ("type", ctypes.c_int),
        ("handle_types", ctypes.c_int),
        ("location", Location),
        ("win32", ctypes.c_void_p),
        ("flags", ctypes.c_ubyte * 8),
    ]


class Access(ctypes.Structure):
    """CUmemAccessDesc."""

    _fields_ = [("location", Location), ("flags", ctypes.c_int)]


@cache
def driver() -> Any:
    """Return the CUDA driver's library, with a context of torch's current."""
    torch.zeros(1, device="cuda")
    return ctypes.CDLL("libcuda.so.1")


def call(name: str, *words: Any) -> None:
    """Call a function of the driver.

    Raises:
        RuntimeError: it returned an error.
    """
    status = getattr(driver(), name)(*words)
    if status:
        raise RuntimeError(f"{name} returned CUDA error {status}")


class Bytes:
    """Memory that torch reads through __cuda_array_interface__; never freed."""

    def __init__(self, address: int, size: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (size,),
            "typestr": "|u1",
            "data": (address, False),
            "version": 2,
        }


def mapped(size: int) -> int:
    """Return the address of ``size`` bytes (a multiple of the granularity) between guards."""
    where = Location(DEVICE, torch.cuda.current_device())
    wanted, handle, base = Allocation(type=PINNED, location=where), ctypes.c_uint64(), _u64(0)
    call("cuMemCreate", ctypes.byref(handle), ctypes.c_size_t(size), ctypes.byref(wanted), _u64(0))
    whole = ctypes.c_size_t(size + 2 * GUARD)
    none = ctypes.c_size_t(0)
    call("cuMemAddressReserve", ctypes.byref(base), whole, none, _u64(0), _u64(0))
    start = base.value + GUARD
    call("cuMemMap", _u64(start), ctypes.c_size_t(size), none, handle, _u64(0))
    access = Access(where, READ_WRITE)
    one = ctypes.c_size_t(1)
    call("cuMemSetAccess", _u64(start), ctypes.c_size_t(size), ctypes.byref(access), one)
    return start


def _u64(value: int) -> ctypes.c_uint64:
    return ctypes.c_uint64(value)


def guarded(tensor: torch.Tensor, side: Literal["start", "end"]) -> torch.Tensor:
    """Return a contiguous copy that begins (or ends) exactly where mapped memory does.

    Args:
        tensor: on the device, any shape and dtype.
        side: where a guard touches it; on the other side is memory up to 2 MiB, then the guard.
    """
    granularity = 2 << 20
    size = tensor.numel() * tensor.element_size()
    room = -(-size // granularity) * granularity
    address = mapped(room)
    offset = 0 if side == "start" else room - size
    raw: torch.Tensor = torch.as_tensor(Bytes(address + offset, size), device="cuda")
    found = raw.view(tensor.dtype).view(tensor.shape)
    found.copy_(tensor)
    return found
