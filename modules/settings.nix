# services.qwen3090.settings: one typed option per setting of the command line, made from the data
# that the command line prints about itself (nix/settings.json). Keys it does not know are let
# through: `qwen3090 config check` judges them when the system is built.
{ lib, pkgs, ... }:
let
  inherit (lib) types;
  inherit (import ./types.nix { inherit lib; }) absolutePath;
  data = import ./data.nix;

  # Those that have an option of their own, so that each value has one place.
  elsewhere = [
    "host"
    "port"
    "api_key_file"
    "model"
    "warmup"
  ];

  typeOf =
    entry:
    {
      bool = types.bool;
      int =
        if entry ? ge || entry ? le then
          types.ints.between (entry.ge or 0) (entry.le or 9007199254740991)
        else
          types.int;
      float = types.either types.float types.int;
      bytes = types.either types.ints.positive types.str;
      text = types.str;
      path = types.either absolutePath types.package;
      enum = types.enum (entry.choices or [ ]);
      list = types.listOf (typeOf entry.of);
      table = types.attrsOf types.str;
      either = types.oneOf (map typeOf entry.of);
    }
    .${entry.type};

  option =
    key: entry:
    lib.mkOption {
      type = types.nullOr (typeOf entry);
      default = null;
      defaultText = lib.literalMD (
        "the profile's value"
        + lib.optionalString (entry ? default) ", else `${builtins.toJSON entry.default}`"
      );
      description = entry.description;
    };

  isEngine = key: lib.hasPrefix "engine." key;
  typed = lib.filterAttrs (key: _: !builtins.elem key elsewhere) data.settings;
  flat = lib.mapAttrs option (lib.filterAttrs (key: _: !isEngine key) typed);
  engine = lib.mapAttrs' (
    key: entry: lib.nameValuePair (lib.removePrefix "engine." key) (option key entry)
  ) (lib.filterAttrs (key: _: isEngine key) typed);
in
{
  options.services.qwen3090.settings = lib.mkOption {
    default = { };
    example = {
      context = 32768;
      speculation = "mtp";
    };
    description = ''
      Settings that override the profile's, under the names of the command line
      (`qwen3090 config reference`). The result is checked while the system is built.
    '';
    type = types.submodule {
      freeformType = (pkgs.formats.toml { }).type;
      options = flat // {
        inherit engine;
      };
    };
  };
}
