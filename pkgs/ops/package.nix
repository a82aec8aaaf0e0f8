# The Python package qwen3090_ops (vLLM's plugin): built from its pyproject by the locked hatchling.
{
  pyprojectTree,
}:
pyprojectTree {
  name = "qwen3090-ops";
  projects.qwen3090-ops = "pkgs/ops";
  sources = {
    "pkgs/ops/pyproject.toml" = ./pyproject.toml;
    "pkgs/ops/qwen3090_ops" = ./qwen3090_ops;
  };
}
