# A NixOS machine boots with the service: readiness, loopback, key, restarts, the watchdog, the
# sandbox. nixpkgs' test framework builds it; where that is not at hand (the stand-in), the
# configuration is evaluated and the script compiled instead, and nothing is run.
{
  self,
  pkgs,
  package,
  lib,
}:
let
  key = "0123456789abcdef-for-the-test-only";
  quick = {
    # As the module has it, but for a test that is not to wait.
    systemd.services.qwen3090.serviceConfig = {
      WatchdogSec = lib.mkForce 8;
      RestartSec = lib.mkForce 1;
    };
    # The nodes that are waited for; /dev/null's numbers, which nothing opens.
    systemd.tmpfiles.rules = map (name: "c /dev/${name} 0666 root root - 1:3") [
      "nvidia0"
      "nvidiactl"
      "nvidia-uvm"
    ];
  };
  test = {
    name = "qwen3090-service";
    nodes.home = {
      imports = [
        ../../modules
        (import ./host.nix { inherit pkgs package; })
        quick
      ];
      services.qwen3090.powerLimitWatts = 250;
    };
    nodes.lan = {
      imports = [
        ../../modules
        (import ./host.nix {
          inherit pkgs package;
          apiKeyFile = "/run/key";
        })
        quick
      ];
      services.qwen3090 = {
        host = "0.0.0.0";
        openFirewall = true;
      };
      # Before anything else: a file that only root can read.
      systemd.tmpfiles.rules = [ "f /run/key 0400 root root - ${key}" ];
    };
    testScript = ''
      KEY = "${key}"
    ''
    + builtins.readFile ./script.py;
  };
in
{
  vm-service =
    if pkgs ? testers then
      pkgs.testers.runNixOSTest test
    else
      import ./evaluated.nix {
        inherit
          pkgs
          package
          lib
          test
          ;
      };
  vm-bundle = import ./bundle.nix {
    inherit
      pkgs
      package
      lib
      test
      ;
  };
}
