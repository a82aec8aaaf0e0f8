# docs/reference/nixos-options.md, made from the options themselves.
{ lib, options }:
let
  b = builtins;
  isOption = x: x._type or "" == "option";
  # An option and those of its submodule; others are internal or look away on purpose.
  listed =
    tree:
    lib.concatMap (
      name:
      let
        x = tree.${name};
      in
      if lib.hasPrefix "_" name || !b.isAttrs x then
        [ ]
      else if !isOption x then
        listed x
      else if x.internal or false then
        [ ]
      else
        [ x ] ++ listed (x.type.getSubOptions x.loc)
    ) (lib.attrNames tree);

  nix =
    v:
    if v._type or "" == "literalExpression" then
      v.text
    else if b.isAttrs v then
      if v == { } then
        "{ }"
      else
        "{ ${lib.concatStrings (lib.mapAttrsToList (n: x: "${n} = ${nix x}; ") v)}}"
    else if b.isList v then
      if v == [ ] then "[ ]" else "[ ${lib.concatMapStringsSep " " nix v} ]"
    else
      b.toJSON v;
  code = v: if v._type or "" == "literalMD" then v.text else "`${nix v}`";
  field = name: text: "- ${name}: ${text}\n";
  entry =
    option:
    "## `${lib.concatStringsSep "." option.loc}`\n\n"
    + "${lib.removeSuffix "\n" option.description}\n\n"
    + field "type" option.type.description
    + lib.optionalString (option ? defaultText || option ? default) (
      field "default" (code (option.defaultText or option.default))
    )
    + lib.optionalString (option ? example) (field "example" (code option.example));
in
''
  <!-- Generated from modules/: bash checks/module.sh --write -->
  # NixOS options

  Import `nixosModules.default` of the flake, then set these. A host of fifteen lines is in
  `templates/host`; what is protected and how is in [security](../concepts/security.md).

''
+ lib.concatMapStringsSep "\n" entry (listed options.services.qwen3090)
