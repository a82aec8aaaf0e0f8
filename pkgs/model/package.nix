# The model's files in the store, a fixed-output fetch each (so that one bad file fetches again
# alone), laid out as `qwen3090 models fetch` lays out its state directory: one folder a repository.
# Opt-in: 20 GB in the store. The two files that the manifest calls generated are written by
# qwen3090_prepare, the same code that the other route runs.
{
  lib,
  fetchurl,
  linkFarm,
  runCommand,
  qwen3090-tree,
  python-env,
  python,
  repositories ? [
    "base"
    "fast"
    "drafter"
  ],
}:
let
  manifest = lib.importJSON ../../nix/models.json;
  fetch =
    repository: file:
    fetchurl {
      name = baseNameOf file.path;
      url = "https://huggingface.co/${repository.repository}/resolve/${repository.revision}/${file.path}";
      inherit (file) sha256;
    };
  fetched =
    name: repository:
    linkFarm "qwen3090-model-${name}-fetched" (
      map (file: {
        name = file.path;
        path = fetch repository file;
      }) repository.files
    );
  # The base's config and index: made from the shards' headers, so no large file is read.
  complete =
    name: repository:
    if repository.generated == [ ] then
      fetched name repository
    else
      runCommand "qwen3090-model-${name}" { } ''
        mkdir $out
        cp -P ${fetched name repository}/* $out/
        PYTHONPATH=${qwen3090-tree}/${python.sitePackages} ${python-env}/bin/python \
          ${./generate.py} ${name} $out
      '';
  chosen = lib.getAttrs repositories manifest.repositories;
in
linkFarm "qwen3090-model" (lib.mapAttrs complete chosen)
