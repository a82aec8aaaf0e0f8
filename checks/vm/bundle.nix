# The VM test's machines as unit files, with its script: what checks/vm/local runs under the host's
# own systemd where no NixOS can be built.
{
  pkgs,
  package,
  lib,
  test,
}:
let
  evaluate = import ../module/evaluate.nix { inherit lib pkgs package; };
  machine =
    name: node:
    let
      host = evaluate node;
      place = file: text: "cp ${pkgs.writeText file text} $out/${name}/units/${file}\n";
      tools = map (tool: "ln -s ${lib.getExe tool} $out/${name}/bin/\n") (
        lib.filter (tool: tool.meta.mainProgram or "" == "nvidia-smi") host.config.environment.systemPackages
      );
    in
    ''
      mkdir -p $out/${name}/{units,bin}
      ${lib.concatStrings (lib.mapAttrsToList place host.units)}
      ${lib.concatStrings tools}
      cp ${pkgs.writeText "tmpfiles.conf" (lib.concatLines host.config.systemd.tmpfiles.rules)} $out/${name}/tmpfiles.conf
    '';
in
pkgs.runCommand "${test.name}-bundle" { } ''
  ${lib.concatStrings (lib.mapAttrsToList machine test.nodes)}
  cp ${pkgs.writeText "script.py" test.testScript} $out/script.py
''
