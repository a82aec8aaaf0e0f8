# What FlashInfer and Triton compile with: nvcc, headers, runtime and curand of the one CUDA in
# wheels.json, laid out as a CUDA_HOME, with a compiler that this nvcc supports. There are no other
# copies: python-env links to the same files.
{
  lib,
  stdenvNoCC,
  gcc14,
  python,
  pins,
  wheels,
  wheelTree,
}:
let
  inherit (pins.cuda) release;
  cudaWheels = lib.mapAttrs (
    project: version:
    let
      wheel = (wheels [ "engine" ]).${project};
    in
    # A compiler and headers of different releases is what breaks FlashInfer's kernels.
    assert lib.assertMsg (wheel.version == version)
      "${project} is ${wheel.version} in wheels.json and ${version} in pins.json";
    wheel
  ) pins.cuda.wheels;
  toolchain = wheelTree {
    name = "cuda-${release}-toolchain";
    wheels = cudaWheels;
  };
  root = "${toolchain}/${python.sitePackages}/nvidia/cu${lib.head (lib.splitString "." release)}";
in
stdenvNoCC.mkDerivation {
  name = "cuda-home-${release}";
  nativeBuildInputs = [
    python
    gcc14
  ];
  dontUnpack = true;
  installPhase = ''
    for file in ${lib.concatStringsSep " " pins.cuda.files}; do
      [ -f ${root}/$file ] || { echo "error: the CUDA wheels have no $file" >&2; exit 1; }
    done
    mkdir -p $out/bin $out/lib/stubs
    ln -s lib $out/lib64
    ln -s ${root}/include ${root}/nvvm $out/
    for program in ${root}/bin/*; do ln -s $program $out/bin/; done
    # nvcc takes whatever compiler is first on PATH, and refuses those newer than it knows.
    rm $out/bin/nvcc
    cat > $out/bin/nvcc <<'SCRIPT'
    #!/bin/sh
    export NVCC_CCBIN="''${NVCC_CCBIN:-${gcc14}/bin/g++}"
    export NVCC_APPEND_FLAGS="-L${placeholder "out"}/lib64 ''${NVCC_APPEND_FLAGS:-}"
    exec ${root}/bin/nvcc "$@"
    SCRIPT
    chmod +x $out/bin/nvcc
    # The wheels have libcudart.so.13; linkers look for libcudart.so.
    for library in ${root}/lib/*; do
      ln -s $library $out/lib/
      plain=$(basename $library | sed -E 's/\.so\.[0-9.]+$/.so/')
      [ -e $out/lib/$plain ] || ln -s $library $out/lib/$plain
    done
    # The driver's library is the host's. Programs are linked, and extensions loaded where there is
    # no GPU, against this one, whose functions all return CUDA_ERROR_STUB_LIBRARY.
    python3 ${./driver-stub.py} ${root}/include/cuda.h > stub.c
    ${gcc14}/bin/gcc -shared -fPIC -O1 -Wl,-soname,libcuda.so.1 stub.c \
      -o $out/lib/stubs/libcuda.so.1
    ln -s libcuda.so.1 $out/lib/stubs/libcuda.so
  '';
  passthru = {
    inherit toolchain;
    wheels = cudaWheels;
    cc = gcc14;
  };
}
