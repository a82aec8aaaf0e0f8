# The command `qwen3090` over a joined environment: wrapper.sh with its store paths, and the
# variables that pins.json asks for.
{
  lib,
  stdenv,
  writeShellApplication,
  coreutils,
  gnused,
  ninja,
  numactl,
  zlib,
  gcc14,
  pins,
}:
{
  env,
  cuda-home ? null,
  cpu ? false, # the engine for CPUs
  passthru ? { },
}:
let
  engine = cuda-home != null || cpu;
  text = ''
    python=${env}/bin/python
    cuda_home=${lib.optionalString (cuda-home != null) "${cuda-home}"}
    compiler=${
      lib.optionalString engine (
        lib.makeBinPath [
          gcc14
          ninja
        ]
      )
    }
    cc=${lib.optionalString engine "${gcc14}/bin/gcc"}
    cxx=${lib.optionalString engine "${gcc14}/bin/g++"}
    libraries=${
      lib.makeLibraryPath (
        [
          stdenv.cc.cc.lib
          zlib
        ]
        ++ lib.optional cpu numactl
      )
    }
    ${lib.concatStrings (
      lib.mapAttrsToList (name: value: "export ${name}=${lib.escapeShellArg value}\n") pins.environment
    )}
    ${builtins.readFile ./wrapper.sh}
  '';
in
(writeShellApplication {
  name = "qwen3090";
  runtimeInputs = [
    coreutils
    gnused
  ];
  inherit text;
  meta = {
    description = "Serve Qwen3.8-27B on one RTX 3090";
    license = lib.licenses.asl20;
    mainProgram = "qwen3090";
    platforms = [ "x86_64-linux" ];
  };
})
// passthru
// {
  inherit env;
}
