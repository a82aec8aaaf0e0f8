# The trivial builders that this project uses, with the arguments it gives them.
{
  lib,
  system,
  stdenvNoCC,
  shellcheck,
}:
rec {
  runCommand =
    name: attributes: buildCommand:
    stdenvNoCC.mkDerivation (attributes // { inherit name buildCommand; });
  runCommandLocal = runCommand;

  writeTextFile =
    {
      name,
      text,
      executable ? false,
      destination ? "",
      meta ? { },
      derivationArgs ? { },
    }:
    stdenvNoCC.mkDerivation (
      derivationArgs
      // {
        inherit name text meta;
        passAsFile = [ "text" ];
        buildCommand = ''
          target=$out${destination}
          mkdir -p "$(dirname "$target")"
          cp "$textPath" "$target"
          ${lib.optionalString executable ''chmod +x "$target"''}
        '';
      }
    );
  writeText = name: text: writeTextFile { inherit name text; };
  writeTextDir =
    path: text:
    writeTextFile {
      inherit text;
      name = baseNameOf path;
      destination = "/${path}";
    };
  writeShellScript =
    name: text:
    writeTextFile {
      inherit name;
      executable = true;
      text = "#!/bin/bash\n${text}";
    };
  writeShellScriptBin =
    name: text:
    writeTextFile {
      inherit name;
      executable = true;
      destination = "/bin/${name}";
      text = "#!/bin/bash\n${text}";
      meta.mainProgram = name;
    };
  # As in nixpkgs: strict mode, PATH of the inputs, and shellcheck over the whole.
  writeShellApplication =
    {
      name,
      text,
      runtimeInputs ? [ ],
      excludeShellChecks ? [ ],
      meta ? { },
    }:
    let
      path = lib.makeBinPath runtimeInputs;
      script = writeShellScriptBin name ''
        set -o errexit
        set -o nounset
        set -o pipefail
        ${lib.optionalString (runtimeInputs != [ ]) ''export PATH="${path}:$PATH"''}

        ${text}
      '';
    in
    runCommand name { meta = { mainProgram = name; } // meta; } ''
      mkdir -p $out/bin
      cp ${script}/bin/${name} $out/bin/${name}
      bash -n $out/bin/${name}
      if [ -x ${shellcheck}/bin/shellcheck ]; then ${shellcheck}/bin/shellcheck $out/bin/${name}; fi
    '';
  linkFarm =
    name: entries:
    let
      pairs =
        if builtins.isAttrs entries then
          lib.mapAttrsToList (n: path: {
            name = n;
            inherit path;
          }) entries
        else
          entries;
    in
    runCommand name { } ''
      mkdir -p $out
      ${lib.concatMapStrings (e: ''
        mkdir -p "$(dirname $out/${e.name})"
        ln -s ${e.path} $out/${e.name}
      '') pairs}
    '';
  symlinkJoin =
    {
      name,
      paths,
      postBuild ? "",
      meta ? { },
    }:
    runCommand name { inherit meta; } ''
      mkdir -p $out
      ${lib.concatMapStrings (p: "cp -rs --no-preserve=mode ${p}/. $out/\n") paths}
      ${postBuild}
    '';
  closureInfo =
    { rootPaths }:
    runCommand "closure-info"
      {
        exportReferencesGraph = lib.concatMap (path: [
          "graph-${builtins.substring 0 32 (baseNameOf (builtins.unsafeDiscardStringContext "${path}"))}"
          path
        ]) rootPaths;
      }
      ''
        mkdir $out
        cat graph-* | grep '^/nix/store/' | grep -v '\.drv$' | sort -u > $out/store-paths
      '';
  mkShellNoCC =
    {
      packages ? [ ],
      shellHook ? "",
      ...
    }@attributes:
    stdenvNoCC.mkDerivation (
      removeAttrs attributes [ "packages" ]
      // {
        name = "nix-shell";
        nativeBuildInputs = packages;
        inherit shellHook;
        buildCommand = "mkdir $out";
      }
    );
  mkShell = mkShellNoCC;
  # An image cannot be made here: what would go into it is written down instead.
  dockerTools = {
    streamLayeredImage =
      {
        name,
        tag ? "latest",
        contents ? [ ],
        config ? { },
        ...
      }:
      writeTextFile {
        name = "stream-${name}";
        executable = true;
        text = ''
          #!/bin/bash
          echo "this is the stand-in: no image of ${name}:${tag} is made" >&2
          exit 1
          # ${builtins.toJSON { inherit config; }}
        '';
      };
    binSh = writeTextDir "bin/sh" "";
    caCertificates = writeTextDir "etc/ssl/certs/ca-bundle.crt" "";
    fakeNss = writeTextDir "etc/passwd" "root:x:0:0::/root:/bin/sh\n";
    usrBinEnv = writeTextDir "usr/bin/env" "";
  };
}
