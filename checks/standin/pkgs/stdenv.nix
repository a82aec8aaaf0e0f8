# mkDerivation: the attributes that reach the builder, and the host's compiler as stdenv.cc.
{
  lib,
  system,
  hostTool,
}:
let
  b = builtins;
  forBuilder =
    attributes:
    lib.filterAttrs (_: v: v != null && !(b.isAttrs v && !lib.isDerivation v && !(v ? outPath))) (
      b.removeAttrs attributes [
        "meta"
        "passthru"
      ]
    );
  mkDerivation =
    given:
    let
      attributes = if b.isFunction given then given (attributes // { finalPackage = made; }) else given;
      name = attributes.name or "${attributes.pname}-${attributes.version}";
      drv = derivation (
        forBuilder attributes
        // {
          inherit name system;
          builder = "/bin/bash";
          args = [
            "-e"
            ./setup.sh
          ];
        }
      );
      made =
        drv
        // {
          inherit name;
          pname = attributes.pname or name;
          version = attributes.version or "";
          meta = attributes.meta or { };
        }
        // (attributes.passthru or { });
    in
    made;
  cc = hostTool "gcc" // {
    cc = hostTool "gcc" // {
      lib = hostTool "gcc-lib";
    };
    bintools = hostTool "binutils" // {
      dynamicLinker = "/lib64/ld-linux-x86-64.so.2";
    };
  };
in
{
  inherit mkDerivation cc;
  hostPlatform = {
    inherit system;
    isLinux = true;
    isx86_64 = true;
  };
}
