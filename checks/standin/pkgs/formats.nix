# pkgs.formats.toml: nixpkgs' type, and a file written by the host's Python from JSON.
{
  lib,
  runCommand,
  interpreter,
}:
{
  toml =
    { }:
    {
      type =
        let
          inherit (lib) types;
          value =
            types.oneOf [
              types.bool
              types.int
              types.float
              types.str
              types.path
              (types.attrsOf value)
              (types.listOf value)
            ]
            // {
              description = "TOML value";
            };
        in
        value;
      generate =
        name: value:
        runCommand name {
          value = builtins.toJSON value;
          passAsFile = [ "value" ];
        } "${interpreter} ${./json2toml.py} \"$valuePath\" > $out";
    };
}
