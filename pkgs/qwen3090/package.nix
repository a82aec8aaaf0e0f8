# The command line and the prepare package, with the data files that cli/pyproject.toml includes
# (pins, locks, manifest, series): pure Python, an output of their own.
{
  lib,
  pyprojectTree,
}:
let
  inherit (lib.importTOML ../../cli/pyproject.toml) tool;
  included = lib.attrNames tool.hatch.build.targets.wheel.force-include;
in
pyprojectTree {
  name = "qwen3090-cli-tree";
  projects = {
    qwen3090 = "cli";
    qwen3090-prepare = "prepare";
  };
  sources = {
    "cli/pyproject.toml" = ../../cli/pyproject.toml;
    "cli/qwen3090" = ../../cli/qwen3090;
    "prepare/pyproject.toml" = ../../prepare/pyproject.toml;
    "prepare/qwen3090_prepare" = ../../prepare/qwen3090_prepare;
  }
  // lib.listToAttrs (
    map (path: lib.nameValuePair (lib.removePrefix "../" path) (../../cli + "/${path}")) included
  );
}
