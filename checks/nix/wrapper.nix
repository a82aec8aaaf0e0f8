# The wrapper's environment, and the command line without an engine behind it.
{
  runCommand,
  application,
  env-cli,
  qwen3090-cli,
  cuda-home,
}:
let
  # An environment whose "python" says what it was given.
  probe = runCommand "probe" { } ''
    mkdir -p $out/bin
    printf '#!/bin/sh\nenv\n' > $out/bin/python
    chmod +x $out/bin/python
  '';
  command = "${
    application {
      env = probe;
      inherit cuda-home;
    }
  }/bin/qwen3090";
in
runCommand "wrapper" { } ''
  fail() { echo "error: $*" >&2; exit 1; }
  export HOME=$TMPDIR/home

  mkdir driver && touch driver/libcuda.so.1
  TRITON_LIBCUDA_PATH=$PWD/driver ${command} serve > seen
  grep -qx "TRITON_LIBCUDA_PATH=$PWD/driver" seen || fail "the driver that was named"
  grep -q "^LD_LIBRARY_PATH=$PWD/driver:" seen || fail "the driver does not come first"
  grep -qx "CUDA_HOME=${cuda-home}" seen || fail "CUDA_HOME"
  grep -q "^PATH=${cuda-home}/bin:" seen || fail "nvcc is not on PATH"
  grep -q "^CC=.*/bin/gcc" seen || fail "the compiler"
  grep -qx "FLASHINFER_DISABLE_VERSION_CHECK=1" seen || fail "the variables of pins.json"
  grep -qx "TRITON_CACHE_DIR=$HOME/.cache/qwen3090/triton" seen || fail "the user's cache"
  CACHE_DIRECTORY=$PWD/service:/other TRITON_CACHE_DIR=/mine ${command} serve > seen
  grep -qx "VLLM_CACHE_ROOT=$PWD/service/vllm" seen || fail "the service's cache"
  grep -qx "TRITON_CACHE_DIR=/mine" seen || fail "a cache that was named"

  ${qwen3090-cli}/bin/qwen3090 --version
  ${qwen3090-cli}/bin/qwen3090 plan long
  ${qwen3090-cli}/bin/qwen3090 patches lint
  printf 'profile = "long"\n' > good.toml
  printf 'profile = "long"\nseatz = 4\n' > bad.toml
  ${qwen3090-cli}/bin/qwen3090 config check good.toml
  if ${qwen3090-cli}/bin/qwen3090 config check bad.toml 2> said; then fail "a bad setting passed"; fi
  grep -q "seats" said || fail "the message names no near setting"
  ${env-cli}/bin/python -c \
    'from importlib.util import find_spec; assert find_spec("qwen3090_prepare")'
  touch $out
''
