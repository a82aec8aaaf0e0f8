# Types: name, description as nixpkgs words it, check, and how definitions are merged.
{
  lib,
  properties,
  evalModules,
}:
let
  b = builtins;
  show = b.concatStringsSep ".";
  phrase =
    classes: t: if b.elem (t.descriptionClass or null) classes then t.description else "(${t.description})";

  one =
    loc: values:
    if b.length values == 1 || b.all (v: v == b.head values) values then
      b.head values
    else
      throw "The option `${show loc}' has conflicting definition values";
  mk =
    description: descriptionClass: check:
    {
      _type = "option-type";
      inherit description descriptionClass check;
      merge = one;
      getSubOptions = _: { };
    };
  noun = description: mk description "noun";
  clause = description: mk description "nonRestrictiveClause";

  # Checks and merges the winning definitions of one place.
  settle =
    loc: type: definitions:
    let
      values = properties.winners definitions;
      wrong = b.filter (v: !type.check v) values;
    in
    if values == [ ] then
      throw "The option `${show loc}' was accessed but has no value defined. Try setting the option."
    else if wrong != [ ] then
      throw "A definition for option `${show loc}' is not of type `${type.description}'."
    else
      type.merge loc values;

  int = noun "signed integer" b.isInt;
  either =
    x: y:
    mk (
      if x.descriptionClass == "nonRestrictiveClause" then
        "${x.description}, or ${phrase [ "noun" "conjunction" ] y}"
      else
        "${phrase [ "noun" "conjunction" ] x} or ${phrase [ "noun" "conjunction" "composite" ] y}"
    ) "conjunction" (v: x.check v || y.check v)
    // {
      merge = loc: values: if b.all x.check values then x.merge loc values else y.merge loc values;
    };
  nullOr =
    t:
    mk "null or ${phrase [ "noun" "conjunction" ] t}" "conjunction" (v: v == null || t.check v)
    // {
      merge =
        loc: values:
        if b.all (v: v == null) values then
          null
        else if b.any (v: v == null) values then
          throw "The option `${show loc}' is defined both null and not null"
        else
          t.merge loc values;
      inherit (t) getSubOptions;
    };
  listOf =
    t:
    mk "list of ${phrase [ "noun" "composite" ] t}" "composite" b.isList
    // {
      merge =
        loc: values: map (v: settle (loc ++ [ "[definition]" ]) t [ v ]) (b.filter (v: properties.winners [ v ] != [ ]) (b.concatLists values));
    };
  attrsOf =
    t:
    mk "attribute set of ${phrase [ "noun" "composite" ] t}" "composite" b.isAttrs
    // {
      merge =
        loc: values:
        let
          all = b.zipAttrsWith (_: definitions: definitions) (b.concatMap properties.push values);
        in
        b.mapAttrs (name: settle (loc ++ [ name ]) t) (
          lib.filterAttrs (_: definitions: properties.winners definitions != [ ]) all
        );
      getSubOptions = loc: t.getSubOptions (loc ++ [ "<name>" ]);
    };
  anything = noun "anything" (_: true) // {
    merge =
      loc: values:
      if b.all (v: b.isAttrs v && !lib.isDerivation v) values then
        (attrsOf anything).merge loc values
      else if b.length values > 1 && b.all b.isList values then
        b.concatLists values
      else
        one loc values;
  };
  submodule =
    module:
    let
      evaluate =
        prefix: definitions:
        evalModules {
          inherit prefix;
          modules = [ module ] ++ map (d: if b.isFunction d then d else { config = d; }) definitions;
        };
      free = (evaluate [ ] [ ]).freeformType;
    in
    noun (if free == null then "submodule" else "open submodule of ${phrase [ "noun" "composite" ] free}") (
      v: b.isAttrs v || b.isFunction v
    )
    // {
      merge = loc: values: (evaluate loc values).config;
      getSubOptions = loc: (evaluate loc [ ]).options;
    };
  between =
    low: high:
    noun "integer between ${toString low} and ${toString high} (both inclusive)" (
      v: b.isInt v && v >= low && v <= high
    );
  enum =
    values:
    let
      text = v: if b.isString v then ''"${v}"'' else if b.isBool v then lib.boolToString v else toString v;
    in
    if b.length values == 1 then
      noun "value ${text (b.head values)} (singular enum)" (v: b.elem v values)
    else
      mk "one of ${lib.concatMapStringsSep ", " text values}" "conjunction" (v: b.elem v values);
in
{
  inherit
    anything
    attrsOf
    either
    enum
    int
    listOf
    nullOr
    settle
    submodule
    ;
  bool = noun "boolean" b.isBool;
  float = noun "floating point number" b.isFloat;
  str = noun "string" b.isString;
  strMatching =
    pattern: noun "string matching the pattern ${pattern}" (v: b.isString v && b.match pattern v != null);
  lines = mk "strings concatenated with \"\\n\"" "noun" b.isString // { merge = _: b.concatStringsSep "\n"; };
  path = noun "absolute path" (v: (b.isPath v || b.isString v || v ? outPath) && b.substring 0 1 (toString v) == "/");
  package = noun "package" (v: lib.isDerivation v || (b.isString v && lib.hasPrefix "${b.storeDir}/" v));
  raw = noun "raw value" (_: true);
  unspecified = noun "unspecified value" (_: true);
  attrs = noun "attribute set" b.isAttrs // { merge = _: b.foldl' (x: y: x // y) { }; };
  functionTo =
    t: mk "function that evaluates to a(n) ${phrase [ "noun" "composite" ] t}" "composite" b.isFunction;
  port = noun "16 bit unsigned integer; between 0 and 65535 (both inclusive)" (
    v: b.isInt v && v >= 0 && v <= 65535
  );
  ints = {
    inherit between;
    unsigned = clause "unsigned integer, meaning >=0" (v: b.isInt v && v >= 0);
    positive = clause "positive integer, meaning >0" (v: b.isInt v && v > 0);
  };
  oneOf = ts: b.foldl' either (b.head ts) (b.tail ts);
}
