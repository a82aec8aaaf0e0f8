# mkIf, mkMerge, mkOverride: markers on definitions, and how they are resolved.
let
  b = builtins;
  mark = _type: fields: { inherit _type; } // fields;
  kind = x: if b.isAttrs x then x._type or "" else "";

  # A definition -> the values it stands for, each with its priority (lower wins).
  resolve =
    priority: x:
    {
      "if" = if x.condition then resolve priority x.content else [ ];
      merge = b.concatMap (resolve priority) x.contents;
      override = resolve x.priority x.content;
    }
    .${kind x} or [
      {
        inherit priority;
        value = x;
      }
    ];
  # A definition of a set -> sets of definitions, without looking at any condition.
  push =
    x:
    {
      "if" = map (b.mapAttrs (_: mkIf x.condition)) (push x.content);
      merge = b.concatMap push x.contents;
      override = map (b.mapAttrs (_: mkOverride x.priority)) (push x.content);
    }
    .${kind x} or [ x ];

  mkIf = condition: content: mark "if" { inherit condition content; };
  mkMerge = contents: mark "merge" { inherit contents; };
  mkOverride = priority: content: mark "override" { inherit priority content; };
in
{
  inherit
    mkIf
    mkMerge
    mkOverride
    push
    ;
  mkForce = mkOverride 50;
  mkDefault = mkOverride 1000;
  mkOptionDefault = mkOverride 1500;

  # The values of highest precedence among some definitions.
  winners =
    definitions:
    let
      all = b.concatMap (resolve 100) definitions;
      best = b.foldl' (least: d: if d.priority < least then d.priority else least) 9999 all;
    in
    map (d: d.value) (b.filter (d: d.priority == best) all);
}
