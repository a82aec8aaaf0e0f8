# The locked wheels of one Python and some groups, each fetched by its hash, keyed by project.
# wheels.json is the only place that names them; fetchPypi needs the python tag as `dist`, since its
# default (py2.py3) is wrong for most, and its file names have no place for a build tag.
{
  lib,
  fetchPypi,
  python,
}:
groups:
let
  lock = lib.importJSON ./wheels.json;
  wanted =
    wheel:
    lib.elem python.pythonVersion wheel.pythons && lib.any (group: lib.elem group wheel.groups) groups;
  project = wheel: lib.toLower (lib.replaceStrings [ "_" "." ] [ "-" "-" ] wheel.name);
  fetch = wheel: {
    inherit (wheel) file version;
    src =
      assert lib.assertMsg (!(wheel ? build)) "wheels.json: ${wheel.file} has a build tag";
      fetchPypi {
        pname = wheel.name;
        inherit (wheel)
          version
          abi
          platform
          sha256
          ;
        format = "wheel";
        dist = wheel.python;
        python = wheel.python;
      };
  };
in
lib.listToAttrs (
  map (wheel: lib.nameValuePair (project wheel) (fetch wheel)) (lib.filter wanted lock.wheels)
)
