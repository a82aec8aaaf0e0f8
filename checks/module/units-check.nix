# Every unit of every host through systemd's own judges: no unknown key, and an exposure that a
# reviewer would sign off. checks/module/judge-units.sh does the judging.
{
  lib,
  pkgs,
  results,
  ...
}:
let
  place =
    host: units:
    lib.concatStrings (
      lib.mapAttrsToList (name: text: ''
        mkdir -p units/${host}
        cp ${pkgs.writeText name text} units/${host}/${name}
      '') units
    );
in
pkgs.runCommand "module-units"
  {
    nativeBuildInputs = [
      pkgs.systemd
      pkgs.gnugrep
    ];
  }
  ''
    ${lib.concatStrings (lib.mapAttrsToList (name: host: place name host.units) results.hosts)}
    bash ${./judge-units.sh} units
    cp -r units $out
  ''
