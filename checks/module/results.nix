# Everything that evaluation alone shows about the module, as plain data: the same whatever lib it
# was evaluated with. checks/module.sh compares the stand-in's with the real one's.
{
  lib,
  pkgs,
  package,
}:
let
  evaluate = import ./evaluate.nix { inherit lib pkgs package; };
  cases = import ./cases.nix { inherit lib package; };
  brief =
    module:
    let
      host = evaluate module;
    in
    {
      inherit (host) failed units;
      ports = host.config.networking.firewall.allowedTCPPorts;
      users = builtins.attrNames host.config.users.users;
      web = host.config.services.open-webui;
    };
  has = text: words: builtins.length (builtins.split (lib.escapeRegex words) text) > 1;

  # What was expected and did not come, as sentences; empty when all is well.
  accepted = lib.concatMap (
    name: map (message: "${name}: should be accepted: ${message}") (brief cases.good.${name}).failed
  ) (lib.attrNames cases.good);
  refused = lib.concatMap (
    name:
    let
      case = cases.refused.${name};
      inherit (evaluate case.module) failed;
    in
    lib.optional (!lib.any (message: has message case.text) failed)
      "${name}: no failed assertion says '${case.text}': ${builtins.toJSON failed}"
    # A message without a second line has no cure.
    ++ map (message: "${name}: no next step in: ${message}") (
      lib.filter (message: !has message "\n") failed
    )
  ) (lib.attrNames cases.refused);
  mistyped = lib.concatMap (
    name:
    let
      tried = builtins.tryEval (builtins.deepSeq (brief cases.mistyped.${name}.module).units true);
    in
    lib.optional tried.success "${name}: should be refused by its type"
  ) (lib.attrNames cases.mistyped);

  # By default nobody but this machine reaches it, and the firewall stays shut.
  fast = brief cases.good.fast;
  server = fast.units."qwen3090.service";
  closed =
    lib.optional (fast.ports != [ ]) "fast: opens ports ${builtins.toJSON fast.ports}"
    ++ lib.optional (!has server "\nIPAddressDeny=any\n") "fast: the unit may speak with the network"
    ++ lib.optional (has server "LoadCredential") "fast: a credential without a key file";
  network = brief cases.good.network;
  opened =
    lib.optional (network.ports != [ 18020 ]) "network: opens ports ${builtins.toJSON network.ports}"
    ++ lib.optional (has network.units."qwen3090.service" "IPAddressDeny") "network: the unit cannot be reached"
    ++ lib.optional (
      !has network.units."qwen3090.service" "\nLoadCredential=api-key:/run/secrets/qwen3090-key\n"
    ) "network: the key does not reach the unit";
in
{
  hosts = lib.mapAttrs (_: brief) cases.good;
  messages = lib.mapAttrs (_: case: (evaluate case.module).failed) cases.refused;
  options = import ./options-page.nix {
    inherit lib;
    inherit (evaluate { }) options;
  };
  problems = accepted ++ refused ++ mistyped ++ closed ++ opened;
}
