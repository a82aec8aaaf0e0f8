# The environment that the command runs in; writeShellApplication puts it into bin/qwen3090, below
# the store paths that application.nix fills in: python, cuda_home (empty: no GPU), compiler (empty:
# no engine) with cc and cxx, and libraries.
# shellcheck shell=bash disable=SC2154

# A folder that holds the driver's libraries and nothing else. /usr/lib itself would bring the
# host's C library along, so what is found there is linked into a folder of its own, one for each
# version of the driver: a running server keeps the one it started with.
link_driver() { # link_driver FOLDER-WITH-libcuda.so.1
  local folder part
  folder=$cache/driver-$(basename "$(readlink -f "$1/libcuda.so.1")")
  if [ ! -e "$folder/libcuda.so.1" ]; then
    mkdir -p "$cache"
    part=$(mktemp -d "$cache/.driver.XXXXXX")
    for library in "$1"/libcuda.so* "$1"/libnvidia-{ml,ptxjitcompiler,nvvm,gpucomp}.so* \
      "$1"/libnvidia-nvvm*.so* "$1"/libcudadebugger.so*; do
      if [ -e "$library" ]; then ln -sf "$library" "$part/"; fi
    done
    rm -rf "$folder"
    # Another process may have made it in the meantime, from the same library.
    mv -T "$part" "$folder" 2>/dev/null || rm -rf "$part"
  fi
  printf '%s\n' "$folder"
}

find_driver() {
  local folder ldconfig
  for folder in "${TRITON_LIBCUDA_PATH:-}" /run/opengl-driver/lib /usr/lib/wsl/lib; do
    if [ -n "$folder" ] && [ -e "$folder/libcuda.so.1" ]; then
      printf '%s\n' "$folder"
      return
    fi
  done
  for ldconfig in /sbin/ldconfig /usr/sbin/ldconfig /usr/bin/ldconfig; do
    if [ -x "$ldconfig" ]; then
      folder=$("$ldconfig" -p 2>/dev/null |
        sed -n 's|.*libcuda\.so\.1 (.*x86-64.*=> \(.*\)/libcuda\.so\.1$|\1|p' | head -n 1) || true
      if [ -n "$folder" ] && [ -e "$folder/libcuda.so.1" ]; then
        link_driver "$folder"
        return
      fi
    fi
  done
  for folder in /usr/lib/x86_64-linux-gnu /usr/lib64 /usr/lib /usr/lib/nvidia /usr/lib64/nvidia \
    /usr/local/nvidia/lib64; do
    if [ -e "$folder/libcuda.so.1" ]; then
      link_driver "$folder"
      return
    fi
  done
}

no_driver() {
  if [ -e /etc/NIXOS ]; then
    cat >&2 <<'TEXT'
error: there is an NVIDIA device, and no libcuda.so.1 in /run/opengl-driver/lib
  next: set hardware.graphics.enable = true and services.xserver.videoDrivers = [ "nvidia" ],
        with a driver of at least 580, then nixos-rebuild switch
TEXT
  else
    cat >&2 <<'TEXT'
error: there is an NVIDIA device, and no libcuda.so.1 where this system keeps its libraries
  next: install the driver's libraries (Debian, Ubuntu: libcuda1 or libnvidia-compute-580, at least
        580), or name their folder: TRITON_LIBCUDA_PATH=/folder/with/libcuda.so.1 qwen3090 ...
TEXT
  fi
  exit 1
}

# systemd gives a service its cache folder; the first of them, if there are several.
if [ -n "${CACHE_DIRECTORY:-}" ]; then
  cache=${CACHE_DIRECTORY%%:*}
else
  cache=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/qwen3090
fi

path=$compiler
if [ -n "$compiler" ]; then
  export CC="${CC:-$cc}" CXX="${CXX:-$cxx}"
fi
if [ -n "$cuda_home" ]; then
  driver=$(find_driver)
  if [ -n "$driver" ]; then
    export TRITON_LIBCUDA_PATH="$driver"
    libraries=$driver:$libraries
  elif [ -e /dev/nvidiactl ] || [ -e /dev/dxg ]; then
    case "${1:-}" in serve | up | bench | verify) no_driver ;; esac
  fi
  path=$cuda_home/bin${path:+:$path}
  export CUDA_HOME="$cuda_home"
  # What is compiled at run time must not remember the stub of libcuda that it was linked with.
  export NIX_DONT_SET_RPATH=1
fi
export LD_LIBRARY_PATH="$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export PATH="${path:+$path:}$PATH"
# nvidia-smi comes with the driver; a service's own PATH lacks these folders.
for folder in /run/current-system/sw/bin /usr/lib/wsl/lib; do
  if [ -d "$folder" ]; then PATH=$PATH:$folder; fi
done

# What is compiled at the first start outlives it. FlashInfer adds .cache/flashinfer to its own.
export TRITON_CACHE_DIR="${TRITON_CACHE_DIR:-$cache/triton}"
export TORCHINDUCTOR_CACHE_DIR="${TORCHINDUCTOR_CACHE_DIR:-$cache/inductor}"
export FLASHINFER_WORKSPACE_BASE="${FLASHINFER_WORKSPACE_BASE:-$cache}"
export VLLM_CACHE_ROOT="${VLLM_CACHE_ROOT:-$cache/vllm}"
export CUDA_CACHE_PATH="${CUDA_CACHE_PATH:-$cache/cuda}"
export PYTHONNOUSERSITE=1
exec "$python" -m qwen3090 "$@"
