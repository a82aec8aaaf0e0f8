# Fixed-output fetches without network: same name and hash, so the same store path, as nixpkgs'.
# A wheel comes from host.json's wheelhouse when the store does not have it yet.
{
  lib,
  system,
  host,
}:
let
  b = builtins;
  fromFile =
    {
      name,
      hash,
      url,
    }:
    derivation {
      inherit name system url;
      builder = "builtin:fetchurl";
      outputHashMode = "flat";
      outputHashAlgo = "sha256";
      outputHash = hash;
      preferLocalBuild = true;
      unpack = false;
      executable = false;
    };
  absent =
    {
      name,
      hash,
      why,
    }:
    derivation {
      inherit name system;
      builder = "/bin/sh";
      args = [
        "-c"
        "echo \"error: ${name} is not in the store, and nothing is fetched here: ${why}\" >&2; exit 1"
      ];
      outputHashMode = "flat";
      outputHashAlgo = "sha256";
      outputHash = hash;
    };
in
{
  fetchPypi =
    {
      pname,
      version,
      sha256,
      format,
      dist ? "py2.py3",
      python ? "py2.py3",
      abi ? "none",
      platform ? "any",
    }:
    let
      # nixpkgs makes the address from both; a default left in by mistake would be a 404 there.
      name = "${pname}-${version}-${python}-${abi}-${platform}.whl";
      fetched =
        if host.wheelhouse == null then
          absent {
            inherit name;
            hash = sha256;
            why = "run checks/nix.sh, which adds the locked wheels";
          }
        else
          fromFile {
            inherit name;
            hash = sha256;
            url = "file://${host.wheelhouse}/${name}";
          };
    in
    assert lib.assertMsg (format == "wheel") "fetchPypi: only wheels here";
    assert lib.assertMsg (dist == python) "fetchPypi: ${name}: dist is ${dist}, the file is under ${python}";
    fetched // { inherit pname version; };

  fetchurl =
    {
      url ? b.head urls,
      urls ? [ url ],
      name ? b.baseNameOf url,
      sha256 ? "",
      hash ? sha256,
      ...
    }:
    absent {
      inherit name hash;
      why = "it is ${url}";
    };
}
