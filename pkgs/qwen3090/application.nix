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
  cpu ? false,
  passthru ? { },
}:
let
  compiler = [
    gcc14
    ninja
  ];
  text = ''
    python=${env}/bin/python
    cuda_home=${lib.optionalString (cuda-home != null) "${cuda-home}"}
    compiler=${lib.makeBinPath compiler}
    libraries=${
      lib.makeLibraryPath (
        [
          stdenv.cc.cc.lib
          zlib
        ]
        ++ lib.optional cpu numactl
      )
    }
    export CC="''${CC:-${gcc14}/bin/gcc}" CXX="''${CXX:-${gcc14}/bin/g++}"
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
