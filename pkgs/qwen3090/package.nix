# The command line and the prepare package, with the data files that cli/pyproject.toml includes
# (pins, locks, manifest, series): pure Python, an output of their own.
{
  pyprojectTree,
}:
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
    "nix/pins.json" = ../../nix/pins.json;
    "nix/wheels.json" = ../../nix/wheels.json;
    "nix/models.json" = ../../nix/models.json;
    "patches" = ../../patches;
  };
}
