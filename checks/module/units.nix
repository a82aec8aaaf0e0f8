# A service's options as unit text, in NixOS's manner: a list is a repeated key, true is "true".
{ lib, pkgs }:
unit:
let
  word = v: if lib.isBool v then lib.boolToString v else toString v;
  lines =
    set:
    lib.concatStringsSep "" (
      lib.concatLists (
        lib.mapAttrsToList (key: v: map (x: "${key}=${word x}\n") (if lib.isList v then v else [ v ])) set
      )
    );
  list = key: names: lib.optionalAttrs (names != [ ]) { ${key} = lib.concatStringsSep " " names; };
  limit = key: v: lib.optionalAttrs (v != null) { ${key} = v; };
  environment =
    unit.environment
    // lib.optionalAttrs (unit.path != [ ]) {
      PATH = lib.concatMapStringsSep ":" (p: "${p}/bin") unit.path;
    };
  script = lib.optionalAttrs (unit.script != "") {
    ExecStart = toString (pkgs.writeShellScript "start" unit.script);
  };
in
"[Unit]\n"
+ lines (
  { Description = unit.description; }
  // list "Documentation" unit.documentation
  // list "Wants" unit.wants
  // list "Requires" unit.requires
  // list "Before" unit.before
  // list "After" unit.after
  // limit "StartLimitIntervalSec" unit.startLimitIntervalSec
  // limit "StartLimitBurst" unit.startLimitBurst
  // unit.unitConfig
)
+ "\n[Service]\n"
+ lib.concatStringsSep "" (
  lib.mapAttrsToList (n: v: "Environment=${builtins.toJSON "${n}=${v}"}\n") environment
)
+ lines (script // unit.serviceConfig)
+ lib.optionalString (unit.wantedBy != [ ] || unit.requiredBy != [ ]) (
  "\n[Install]\n" + lines (list "WantedBy" unit.wantedBy // list "RequiredBy" unit.requiredBy)
)
