# Runs some of the repository's tests against the packages as they are built, not against sources.
{
  lib,
  runCommand,
  stdenv,
  zlib,
  git,
  joinTrees,
  wheelTree,
  wheels,
  qwen3090-tree,
  # Given by each check:
  name,
  wheelGroups,
  trees,
  tests, # what pytest runs
  files ? [ ], # what else the tests read
  checkoutTests ? [ ], # tests of a checkout, which an installed package is not
}:
let
  env = joinTrees {
    name = "${name}-env";
    trees = [
      qwen3090-tree
      (wheelTree {
        name = "${name}-wheels";
        wheels = wheels wheelGroups;
      })
    ]
    ++ trees;
  };
  source = builtins.path {
    path = ../..;
    name = "${name}-source";
    filter =
      path: type:
      let
        place = lib.removePrefix "${toString ../..}/" path;
        part = folder: lib.hasPrefix folder place || lib.hasPrefix "${place}/" folder;
      in
      baseNameOf path != "__pycache__"
      && (lib.any part (tests ++ files) || place == "pyproject.toml" || lib.hasSuffix "conftest.py" place);
  };
in
runCommand name { nativeBuildInputs = [ git ]; } ''
  cp -r --no-preserve=mode ${source} source
  cd source
  export HOME=$TMPDIR/home XDG_CACHE_HOME=$TMPDIR/cache LD_LIBRARY_PATH=${
    lib.makeLibraryPath [
      stdenv.cc.cc.lib
      zlib
    ]
  }
  mkdir -p $HOME
  PATH=${env}/bin:$PATH ${env}/bin/python -m pytest -q -p no:cacheprovider -m "not engine and not slow" \
    ${lib.escapeShellArgs tests} ${lib.concatMapStrings (test: "--deselect ${test} ") checkoutTests}
  touch $out
''
