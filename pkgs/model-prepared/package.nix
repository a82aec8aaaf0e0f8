# A prepared checkpoint in the store: the base's files through qwen3090_prepare, with the same
# inputs and parameters as the state directory's route, so the same bytes. It depends on the prepare
# package and its libraries, not on the command line. Files that stay as they are become links to
# the model's store path.
{
  lib,
  stdenv,
  stdenvNoCC,
  zlib,
  python-env,
  model ? null,
  base ? "${model}/base",
  overlay ? "${model}/fast",
  draftVocab ? null,
}:
stdenvNoCC.mkDerivation {
  name = "qwen3090-model-prepared";
  dontUnpack = true;
  dontStrip = true;
  dontPatchELF = true;
  prepare = builtins.path {
    path = ../../prepare/qwen3090_prepare;
    name = "qwen3090-prepare-source";
    filter = file: _: baseNameOf file != "__pycache__" && !lib.hasSuffix ".pyc" file;
  };
  installPhase = ''
    mkdir source
    ln -s $prepare source/qwen3090_prepare
    export HOME=$TMPDIR PYTHONPATH=source PYTHONDONTWRITEBYTECODE=1 LD_LIBRARY_PATH=${
      lib.makeLibraryPath [
        stdenv.cc.cc.lib
        zlib
      ]
    }
    run() { ${python-env}/bin/python -m qwen3090_prepare "$@"; }
    run ${base} --out prepared --threads $NIX_BUILD_CORES ${
      lib.optionalString (overlay != null) "--overlay ${overlay}"
    } ${lib.optionalString (draftVocab != null) "--draft-vocab ${draftVocab}"}
    run --out prepared --check
    mkdir $out
    for file in prepared/*; do
      name=$(basename $file)
      for source in ${base}/$name ${lib.optionalString (overlay != null) "${overlay}/$name"}; do
        if cmp --silent $file $source; then
          ln -s $(readlink -f $source) $out/$name
          break
        fi
      done
      [ -e $out/$name ] || cp $file $out/$name
    done
  '';
}
