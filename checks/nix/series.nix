# The series applies to the pristine wheel of either engine: fuzz 0, no offset, by GNU patch alone.
{
  lib,
  runCommand,
  python,
  wheels,
  vllm,
}:
runCommand "series" { nativeBuildInputs = [ python ]; } (
  lib.concatMapStrings (wheel: ''
    mkdir tree-${wheel.version}-${wheel.name}
    # The Python files are all that a patch may touch.
    python3 - ${wheel.src} tree-${wheel.version}-${wheel.name} <<'PYTHON'
    import sys, zipfile
    with zipfile.ZipFile(sys.argv[1]) as wheel:
        wheel.extractall(sys.argv[2], [n for n in wheel.namelist() if not n.endswith(".so")])
    PYTHON
    bash ${../../pkgs/vllm/apply-series.sh} ${vllm.patches} tree-${wheel.version}-${wheel.name}
  '') (lib.mapAttrsToList (name: w: w // { inherit name; }) (wheels [ "engine-cuda" "engine-cpu" ]))
  + "touch $out\n"
)
