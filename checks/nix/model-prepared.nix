# A prepared checkpoint in the store equals the one of the state directory's route, byte for byte;
# shown on the tiny checkpoint, which has the published layout.
{
  runCommand,
  lib,
  stdenv,
  zlib,
  python,
  joinTrees,
  python-env,
  qwen3090-tree,
  callCheck,
}:
let
  env = joinTrees {
    name = "prepare-env";
    trees = [
      qwen3090-tree
      python-env
    ];
  };
  libraries = lib.makeLibraryPath [
    stdenv.cc.cc.lib
    zlib
  ];
  tiny = runCommand "tiny-checkpoint" { } ''
    export HOME=$TMPDIR LD_LIBRARY_PATH=${libraries}
    ${env}/bin/python -m qwen3090 demo --make $out
  '';
  prepared = callCheck ../../pkgs/model-prepared/package.nix {
    base = "${tiny}/base";
    overlay = "${tiny}/overlay";
  };
in
runCommand "model-prepared-check" { } ''
  export HOME=$TMPDIR LD_LIBRARY_PATH=${libraries}
  cp -r --no-preserve=mode ${tiny} tiny
  ${env}/bin/python -m qwen3090 prepare tiny/base --overlay tiny/overlay --out state
  diff -r state ${prepared}
  touch $out
''
