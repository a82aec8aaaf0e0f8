# Builds Python projects of this repository as pip does anywhere else (their pyproject.toml, the
# locked hatchling), and installs the wheels into a tree as wheel-tree.nix installs any.
{
  lib,
  stdenvNoCC,
  python,
  wheels,
  wheelTree,
}:
{
  name,
  projects, # project name -> its folder in the source tree
  sources, # place in the source tree -> path in the repository
  passthru ? { },
}:
let
  backend = wheelTree {
    name = "qwen3090-build-backend";
    wheels = wheels [ "build" ];
  };
  # Bytecode that lies in a work tree must not decide what is built.
  clean =
    path:
    if builtins.readFileType path == "directory" then
      builtins.path {
        inherit path;
        filter = file: _: baseNameOf file != "__pycache__" && !lib.hasSuffix ".pyc" file;
      }
    else
      path;
  version = folder: (lib.importTOML sources."${folder}/pyproject.toml").project.version;
  file =
    project: folder:
    "${lib.replaceStrings [ "-" ] [ "_" ] project}-${version folder}-py3-none-any.whl";
  built = stdenvNoCC.mkDerivation {
    name = "${name}-wheels";
    nativeBuildInputs = [
      python
      python.pkgs.pip
    ];
    dontUnpack = true;
    installPhase = ''
      ${lib.concatStrings (
        lib.mapAttrsToList (place: path: ''
          mkdir -p "$(dirname source/${place})"
          cp -r --no-preserve=mode ${clean path} source/${place}
        '') sources
      )}
      export HOME=$TMPDIR PIP_CONFIG_FILE=/dev/null PIP_DISABLE_PIP_VERSION_CHECK=1
      export PYTHONPATH=${backend}/${python.sitePackages}
      mkdir $out
      pip wheel --quiet --no-deps --no-index --no-build-isolation --no-cache-dir --wheel-dir=$out \
        ${lib.concatMapStringsSep " " (folder: "./source/${folder}") (lib.attrValues projects)}
    '';
  };
in
wheelTree {
  inherit name passthru;
  wheels = lib.mapAttrs (project: folder: {
    version = version folder;
    file = file project folder;
    src = "${built}/${file project folder}";
  }) projects;
}
