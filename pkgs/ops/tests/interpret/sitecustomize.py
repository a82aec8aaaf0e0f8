"""Put this folder on PYTHONPATH with TRITON_INTERPRET=1: vLLM's Triton kernels then run on a CPU.

A test aid, slow but exact enough for token comparisons. Three things are missing otherwise: vLLM
wants a Triton backend called "cpu" before it uses its kernels there, and Triton's interpreter
hands integer masks (block & scalar) to loads and stores that take booleans only, and knows nothing
of libdevice, whose log1p the sampling kernels call. And it looks through all of triton.language
again at each call of a device function, which took a third of the time: once a launch is enough.
"""

import functools
import inspect
import os
import types


def _boolean_mask(method, handle, language):
    signature = inspect.signature(method)

    @functools.wraps(method)
    def call(*args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        mask = bound.arguments["mask"]
        if mask.data.dtype.kind != "b":
            bound.arguments["mask"] = handle(mask.data.astype(bool), language.int1)
        return method(*bound.args, **bound.kwargs)

    return call


def _install():
    from triton import backends, language
    from triton.runtime import interpreter

    never = types.SimpleNamespace(is_active=lambda: False)
    backends.backends["cpu"] = types.SimpleNamespace(driver=never, compiler=None)
    builder = interpreter.InterpreterBuilder
    for name in ("create_masked_load", "create_masked_store"):
        wrapped = _boolean_mask(getattr(builder, name), interpreter.TensorHandle, language)
        setattr(builder, name, wrapped)
    _interpret_log1p(interpreter, language)
    _patch_once_a_launch(interpreter)


def _interpret_log1p(interpreter, language):
    import numpy
    from triton.language.extra import libdevice

    def log1p(x):
        with numpy.errstate(divide="ignore"):
            data = numpy.log1p(x.handle.data)
        return language.tensor(interpreter.TensorHandle(data, x.handle.dtype), x.type)

    libdevice.log1p = log1p


def _patch_once_a_launch(interpreter):
    launch, patched = interpreter.GridExecutor.__call__, set()

    def begin(self, *args, **kwargs):
        patched.clear()  # its end takes the patches back
        return launch(self, *args, **kwargs)

    def call(self, *args, **kwargs):
        if (module := self.fn.__module__) not in patched:
            interpreter._patch_lang(self.fn)
            patched.add(module)
        try:
            return self.rewrite()(*args, **kwargs)
        except Exception as error:
            raise interpreter.InterpreterError(repr(error)) from error

    interpreter.GridExecutor.__call__ = begin
    interpreter.InterpretedFunction.__call__ = call


if os.environ.get("TRITON_INTERPRET") == "1":
    _install()
