# Installs wheels by pip into one tree that is a virtual environment: scripts, data and .pth files
# land where they belong, and the wheels' own $ORIGIN rpaths find each other. Nothing is relinked
# (dozens of optional sonames would have to be named); only programs get an interpreter.
{
  lib,
  stdenv,
  stdenvNoCC,
  binutils,
  patchelf,
  python,
}:
{
  name,
  wheels, # project -> { file, version, src }
  links ? [ ], # other trees, whose files are linked in; a file in two trees is an error
  postInstall ? "",
  inputs ? [ ], # what postInstall runs
  passthru ? { },
}:
let
  site = "$out/${python.sitePackages}";
  tools = builtins.path {
    path = ./.;
    name = "wheel-tree-tools";
    filter = path: _: lib.hasSuffix ".py" path;
  };
  requirements = lib.concatLines (lib.mapAttrsToList (n: w: "${n}===${w.version}") wheels);
in
stdenvNoCC.mkDerivation {
  inherit name requirements;
  passAsFile = [ "requirements" ];
  nativeBuildInputs = [
    python
    python.pkgs.pip
    binutils
    patchelf
  ]
  ++ inputs;
  dontUnpack = true;
  dontStrip = true;
  dontPatchELF = true;
  dontPatchShebangs = true;
  noAuditTmpdir = true; # it would read 8 GB of libraries, whose rpaths all begin with $ORIGIN
  # Store paths begin with a hash; pip reads a wheel's tags from its real name.
  installPhase = ''
    mkdir wheels
    ${lib.concatMapStrings (w: "ln -s ${w.src} wheels/${w.file}\n") (lib.attrValues wheels)}
    mkdir -p $out/bin ${site}
    ln -s ${python.interpreter} $out/bin/python
    ln -s python $out/bin/python3
    printf '%s\n' 'home = ${python}/bin' 'include-system-site-packages = false' \
      'version = ${python.version}' > $out/pyvenv.cfg

    # Modules that .pth files import would leave bytecode with a time in it.
    export PYTHONDONTWRITEBYTECODE=1
    export HOME=$TMPDIR PIP_CONFIG_FILE=/dev/null PIP_DISABLE_PIP_VERSION_CHECK=1
    pip --python $out/bin/python install --quiet --no-deps --no-index --find-links=wheels \
      --no-cache-dir --no-compile --requirement="$requirementsPath"
    ${lib.concatMapStrings (tree: "cp -rs ${tree}/${python.sitePackages}/. ${site}/\n") links}
    ${postInstall}

    python3 ${tools}/set-interpreter.py $out ${site} \
      ${stdenv.cc.bintools.dynamicLinker}
    # Bytecode that needs no timestamp: the store has none, and nothing can be written there later.
    # Templates that are no Python stay uncompiled, as with pip.
    $out/bin/python -m compileall -q -j $NIX_BUILD_CORES --invalidation-mode unchecked-hash ${site} \
      > compile.log 2>&1 || true
  '';
  passthru = passthru // {
    inherit wheels;
  };
}
