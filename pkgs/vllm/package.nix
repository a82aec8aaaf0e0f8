# vLLM's wheel with the patch series: an output of its own, so that a changed patch rebuilds this
# and nothing larger. GNU patch applies the series (fuzz 0, no offset); our own tool then reads the
# tree, proves it against the wheel's RECORD and leaves the marker that `qwen3090 verify` looks for.
{
  lib,
  wheels,
  wheelTree,
  python,
  cliWheels,
  engine ? "cuda",
}:
let
  patches = builtins.path {
    path = ../../patches;
    name = "qwen3090-patches";
    filter = path: _: lib.hasSuffix ".patch" path || baseNameOf path == "series";
  };
  # Only the patch tool, so that other changes of the command line leave this alone.
  tool = builtins.path {
    path = ../../cli/qwen3090;
    name = "qwen3090-patch-tool";
    filter =
      path: type:
      baseNameOf (dirOf path) == "patches"
      || (type == "directory" && baseNameOf path == "patches")
      || lib.elem (baseNameOf path) [
        "__init__.py"
        "errors.py"
      ];
  };
  toolWheels = wheelTree {
    name = "qwen3090-patch-tool-wheels";
    wheels = lib.getAttrs [
      "click"
      "unidiff"
    ] cliWheels;
  };
in
wheelTree {
  name = "qwen3090-vllm-${engine}";
  wheels = wheels [ "engine-${engine}" ];
  postInstall = ''
    site=$out/${python.sitePackages}
    bash ${./apply-series.sh} ${patches} $site
    mkdir tool
    ln -s ${tool} tool/qwen3090
    PYTHONPATH=tool:${toolWheels}/${python.sitePackages} \
      python3 ${./adopt-series.py} ${patches} $site
  '';
  passthru = {
    inherit engine patches;
  };
}
