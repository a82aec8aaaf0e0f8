# Joins trees into one Python environment: a virtual environment whose only site file adds each
# tree (and that tree's own .pth files). A changed tree costs this file, not a copy of the others.
{
  lib,
  runCommand,
  python,
}:
{
  name,
  trees,
  postBuild ? "",
  passthru ? { },
}:
let
  add = tree: "site.addsitedir('${tree}/${python.sitePackages}')";
  line = "import site; ${lib.concatMapStringsSep "; " add trees}";
in
runCommand name { passthru = passthru // { inherit trees; }; } ''
  site=$out/${python.sitePackages}
  mkdir -p $out/bin $site
  ln -s ${python.interpreter} $out/bin/python
  ln -s python $out/bin/python3
  printf '%s\n' 'home = ${python}/bin' 'include-system-site-packages = false' \
    'version = ${python.version}' > $out/pyvenv.cfg
  cat > $site/qwen3090-trees.pth <<'PTH'
  ${line}
  PTH
  ${postBuild}
''
