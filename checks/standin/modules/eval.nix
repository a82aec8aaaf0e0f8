# evalModules: loads modules, joins their option declarations, and settles every option's value.
{
  lib,
  properties,
  types,
  modulesLib,
}:
let
  b = builtins;
  show = b.concatStringsSep ".";
  isOption = x: b.isAttrs x && x._type or "" == "option";
in
{
  modules,
  specialArgs ? { },
  prefix ? [ ],
}:
let
  arguments = {
    lib = modulesLib;
    inherit config options;
    name = if prefix == [ ] then "" else lib.last prefix;
  }
  // specialArgs;

  load =
    given:
    let
      module = if b.isPath given || b.isString given then import given else given;
      body = if b.isFunction module then module arguments else module;
      long = body ? options || body ? config;
    in
    b.concatMap load (body.imports or [ ])
    ++ [
      {
        # A file that is imported twice counts once.
        file = if b.isPath given then toString given else null;
        options = body.options or { };
        config =
          if long then
            body.config or { }
          else
            removeAttrs body [
              "_file"
              "freeformType"
              "imports"
            ];
        freeformType = body.freeformType or null;
      }
    ];
  loaded = b.foldl' (
    found: m: if m.file != null && b.any (other: other.file == m.file) found then found else found ++ [ m ]
  ) [ ] (b.concatMap load modules);

  declare =
    loc: sets:
    b.zipAttrsWith (
      name: found:
      let
        here = loc ++ [ name ];
      in
      if b.all isOption found then
        if b.length found > 1 then
          throw "The option `${show here}' is declared twice"
        else
          b.head found // { loc = here; }
      else
        declare here found
    ) sets;

  free = b.foldl' (found: m: if m.freeformType != null then m.freeformType else found) null loaded;

  valueOf =
    option: definitions:
    let
      default = if option ? default then [ (properties.mkOptionDefault option.default) ] else [ ];
    in
    if option.readOnly or false && b.length (properties.winners definitions) > 1 then
      throw "The option `${show option.loc}' is read-only, but it's set multiple times."
    else
      types.settle option.loc option.type (definitions ++ default);

  values =
    loc: declared: definitions:
    let
      by = b.zipAttrsWith (_: found: found) (b.concatMap properties.push definitions);
      known = b.mapAttrs (
        name: option:
        if isOption option then
          valueOf option (by.${name} or [ ])
        else
          values (loc ++ [ name ]) option (by.${name} or [ ])
      ) declared;
      others = lib.filterAttrs (_: found: properties.winners found != [ ]) (
        removeAttrs by (b.attrNames declared)
      );
      stranger = b.head (b.attrNames others);
    in
    if others == { } then
      known
    else if free != null then
      b.mapAttrs (name: types.settle (loc ++ [ name ]) types.anything) others // known
    else
      throw "The option `${show (loc ++ [ stranger ])}' does not exist.";

  options = declare prefix (map (m: m.options) loaded);
  config = values prefix options (map (m: m.config) loaded);
in
{
  inherit config options;
  freeformType = free;
}
