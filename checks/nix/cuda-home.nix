# cuda-home compiles and links for sm_86 where there is no GPU, with nothing but itself; and its
# files ask for no library that is not allowed.
{
  runCommand,
  python,
  binutils,
  cuda-home,
}:
runCommand "cuda-home-check"
  {
    nativeBuildInputs = [
      python
      binutils
    ];
  }
  ''
    export HOME=$TMPDIR
    ${cuda-home}/bin/nvcc --version | grep "release 13.0,"
    ${cuda-home}/bin/nvcc -std=c++17 -arch=sm_86 ${./curand.cu} -o draw \
      -L${cuda-home}/lib64/stubs -lcuda
    ${cuda-home}/bin/nvcc -std=c++17 -arch=sm_86 -cudart shared -shared -Xcompiler -fPIC ${./curand.cu} \
      -o libdraw.so -lcudart -lcurand
    readelf -d libdraw.so | grep -q 'libcudart.so.13'
    code=0
    LD_LIBRARY_PATH=${cuda-home}/lib64/stubs ./draw || code=$?
    [ $code = 7 ] || { echo "error: the program ended with $code, not with the stub's error" >&2; exit 1; }
    python3 ${../../pkgs/python-env/elf.py} ${../../pkgs/python-env/needed.json} ${cuda-home.toolchain}
    touch $out
  ''
