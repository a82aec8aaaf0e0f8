# The module system of nixpkgs' lib, as far as this project's modules use it: options, types,
# mkIf and its kin, submodules. Written for this project; where the real lib is at hand,
# checks/module.sh runs the same tests against both and compares.
{ lib }:
let
  properties = import ./modules/properties.nix;
  types = import ./modules/types.nix { inherit lib properties evalModules; };
  evalModules = import ./modules/eval.nix { inherit lib properties types modulesLib; };
  modulesLib =
    lib
    // properties
    // {
      inherit types evalModules;
      mkOption = attributes: attributes // { _type = "option"; };
      isOption = x: builtins.isAttrs x && x._type or "" == "option";
      mkEnableOption =
        name:
        modulesLib.mkOption {
          type = types.bool;
          default = false;
          example = true;
          description = "Whether to enable ${name}.";
        };
      literalExpression = text: {
        _type = "literalExpression";
        inherit text;
      };
      literalMD = text: {
        _type = "literalMD";
        inherit text;
      };
    };
in
modulesLib
