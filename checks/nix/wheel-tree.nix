# How python-env is built, on a few real wheels: pure and compiled ones, scripts in Python and in
# machine code, a .pth file, two trees of which one links to the other, and the join of both.
{
  lib,
  runCommand,
  python,
  wheels,
  wheelTree,
  joinTrees,
}:
let
  all = wheels [
    "engine"
    "cli"
  ];
  small = wheelTree {
    name = "small";
    wheels = lib.getAttrs [
      "pyyaml" # compiled
      "msgspec" # compiled
      "click" # pure
    ] all;
  };
  tree = wheelTree {
    name = "linked";
    wheels = lib.getAttrs [
      "ninja" # a program
      "tqdm" # a script
      "setuptools" # a .pth file
    ] all;
    links = [ small ];
  };
  joined = joinTrees {
    name = "joined";
    trees = [ tree ];
  };
in
runCommand "wheel-tree" { nativeBuildInputs = [ python ]; } ''
  fail() { echo "error: $*" >&2; exit 1; }
  site=${tree}/${python.sitePackages}
  ${joined}/bin/python -I - <<'PYTHON'
  import importlib.metadata as metadata, sys
  import click, msgspec, tqdm, yaml
  assert yaml.safe_load("a: [1]") == {"a": [1]} and yaml.__with_libyaml__, "PyYAML's C part"
  assert msgspec.json.decode(b"[1]") == [1]
  assert sys.prefix == "${joined}", sys.prefix
  names = {d.metadata["Name"].lower() for d in metadata.distributions()}
  assert {"click", "msgspec", "ninja", "pyyaml", "setuptools", "tqdm"} <= names, names
  assert "pip" not in names, "pip came along"
  assert "_distutils_hack" in sys.modules, "setuptools' .pth file did not run"
  assert not any(d.read_text("direct_url.json") for d in metadata.distributions()), "build paths"
  assert click.__cached__ and __import__("os").path.exists(click.__cached__), "no bytecode"
  PYTHON
  # Bytecode without a time (flags 1: a hash, not compared), that of .pth files' modules too.
  find $site -name '*.pyc' -type f -print0 | xargs -0 python3 -c '
  import sys
  bad = [p for p in sys.argv[1:] if open(p, "rb").read(8)[4] != 1]
  assert len(sys.argv) > 50 and not bad, bad
  '
  ${tree}/bin/ninja --version
  ${tree}/bin/tqdm --version
  head -n 1 ${tree}/bin/tqdm | grep -qx '#!${tree}/bin/python' || fail "tqdm's interpreter"
  [ -L $site/click/__init__.py ] || fail "a linked tree was copied"
  # Two trees with one file: never one silently over the other.
  mkdir twice && cp -rs ${small}/${python.sitePackages}/. twice/
  if cp -rs ${small}/${python.sitePackages}/. twice/ 2> /dev/null; then fail "a conflict passed"; fi
  if grep -rlE "(^|file://)$NIX_BUILD_TOP/" $site --include=RECORD; then fail "RECORD names the build folder"; fi
  touch $out
''
