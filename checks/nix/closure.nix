# The product's closure holds one CUDA: each part of it once, whatever asks for it.
{
  runCommand,
  qwen3090,
  closureInfo,
}:
runCommand "closure" { } ''
  once() {
    count=$(xargs -I{} find {} -type f -name "$1" -not -path '*/triton/*' < ${
      closureInfo { rootPaths = [ qwen3090 ]; }
    }/store-paths | tee found | wc -l)
    [ "$count" = 1 ] || { echo "error: $count files named $1 in the closure" >&2; cat found >&2; exit 1; }
  }
  for name in 'libcudart.so.*' 'libcurand.so.*' 'libcublas.so.*' 'libnvrtc.so.*' cicc curand.h \
    cuda_runtime.h; do
    once "$name"
  done
  touch $out
''
