# The functions of nixpkgs' lib that this project calls, with the same names and results.
let
  b = builtins;
in
rec {
  inherit (b)
    all
    any
    attrNames
    attrValues
    concatLists
    concatMap
    concatStringsSep
    elem
    elemAt
    filter
    foldl'
    fromJSON
    functionArgs
    genList
    hasAttr
    head
    intersectAttrs
    isAttrs
    isBool
    isFloat
    isFunction
    isInt
    isList
    isPath
    isString
    length
    listToAttrs
    map
    mapAttrs
    match
    readFile
    removeAttrs
    replaceStrings
    split
    stringLength
    substring
    tail
    toJSON
    ;

  id = x: x;
  const = x: _: x;
  flip =
    f: x: y:
    f y x;
  pipe = b.foldl' (x: f: f x);
  toInt = b.fromJSON;
  boolToString = x: if x then "true" else "false";
  importJSON = path: b.fromJSON (b.readFile path);
  importTOML = path: b.fromTOML (b.readFile path);
  assertMsg = condition: message: condition || throw message;
  warn = message: b.trace "warning: ${message}";

  # Lists.
  last = list: b.elemAt list (b.length list - 1);
  init = list: b.genList (b.elemAt list) (b.length list - 1);
  take = n: list: b.genList (b.elemAt list) (if n < b.length list then n else b.length list);
  range = from: to: if from > to then [ ] else b.genList (n: from + n) (to - from + 1);
  optional = condition: x: if condition then [ x ] else [ ];
  optionals = condition: xs: if condition then xs else [ ];
  flatten = x: if b.isList x then b.concatMap flatten x else [ x ];
  unique = b.foldl' (seen: x: if b.elem x seen then seen else seen ++ [ x ]) [ ];
  subtractLists = less: b.filter (x: !b.elem x less);
  intersectLists = one: b.filter (x: b.elem x one);
  sort = b.sort;
  findFirst =
    test: default: list:
    let
      found = b.filter test list;
    in
    if found == [ ] then default else b.head found;
  partition = b.partition;
  toList = x: if b.isList x then x else [ x ];
  foldr =
    f: end: list:
    if list == [ ] then end else f (b.head list) (foldr f end (b.tail list));
  zipLists =
    xs: ys:
    b.genList (n: {
      fst = b.elemAt xs n;
      snd = b.elemAt ys n;
    }) (if b.length xs < b.length ys then b.length xs else b.length ys);

  # Attribute sets.
  optionalAttrs = condition: set: if condition then set else { };
  nameValuePair = name: value: { inherit name value; };
  filterAttrs = test: set: b.removeAttrs set (b.filter (n: !test n set.${n}) (b.attrNames set));
  mapAttrsToList = f: set: map (n: f n set.${n}) (b.attrNames set);
  mapAttrs' = f: set: b.listToAttrs (mapAttrsToList f set);
  genAttrs =
    names: f:
    b.listToAttrs (map (n: nameValuePair n (f n)) names);
  getAttrs = names: set: genAttrs names (n: set.${n});
  attrByPath =
    path: default: set:
    if path == [ ] then
      set
    else if b.isAttrs set && set ? ${b.head path} then
      attrByPath (b.tail path) default set.${b.head path}
    else
      default;
  hasAttrByPath =
    path: set:
    path == [ ] || (b.isAttrs set && set ? ${b.head path} && hasAttrByPath (b.tail path) set.${b.head path});
  setAttrByPath = path: value: foldr (name: inner: { ${name} = inner; }) value path;
  recursiveUpdate =
    left: right:
    left
    // b.mapAttrs (
      n: v: if left ? ${n} && b.isAttrs left.${n} && b.isAttrs v then recursiveUpdate left.${n} v else v
    ) right;
  concatMapAttrs = f: set: b.foldl' (a: x: a // x) { } (mapAttrsToList f set);
  isDerivation = x: b.isAttrs x && x.type or "" == "derivation";

  # Strings.
  concatStrings = b.concatStringsSep "";
  concatMapStrings = f: xs: concatStrings (map f xs);
  concatMapStringsSep =
    separator: f: xs:
    b.concatStringsSep separator (map f xs);
  concatLines = xs: concatMapStrings (x: x + "\n") xs;
  optionalString = condition: x: if condition then x else "";
  hasPrefix = prefix: x: b.substring 0 (b.stringLength prefix) x == prefix;
  hasSuffix =
    suffix: x:
    let
      from = b.stringLength x - b.stringLength suffix;
    in
    from >= 0 && b.substring from (-1) x == suffix;
  hasInfix = infix: x: b.length (b.split (escapeRegex infix) x) > 1;
  removePrefix = prefix: x: if hasPrefix prefix x then b.substring (b.stringLength prefix) (-1) x else x;
  removeSuffix =
    suffix: x:
    if hasSuffix suffix x then b.substring 0 (b.stringLength x - b.stringLength suffix) x else x;
  splitString = separator: x: b.filter b.isString (b.split (escapeRegex separator) x);
  stringToCharacters = x: b.genList (n: b.substring n 1 x) (b.stringLength x);
  lower = stringToCharacters "abcdefghijklmnopqrstuvwxyz";
  upper = stringToCharacters "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  toLower = b.replaceStrings upper lower;
  toUpper = b.replaceStrings lower upper;
  escape = characters: b.replaceStrings characters (map (c: "\\" + c) characters);
  escapeRegex = escape (stringToCharacters "\\[{()^$?*+|.");
  escapeShellArg =
    x:
    let
      text = toString x;
    in
    if b.match "[[:alnum:],._+:@%/-]+" text != null then
      text
    else
      "'${b.replaceStrings [ "'" ] [ "'\\''" ] text}'";
  escapeShellArgs = concatMapStringsSep " " escapeShellArg;
  trim = x: b.head (b.match "[[:space:]]*(.*[^[:space:]])?[[:space:]]*" x);
  fileContents = path: removeSuffix "\n" (b.readFile path);
  versions.majorMinor = v: b.concatStringsSep "." (take 2 (b.splitVersion v));
  versionOlder = a: c: b.compareVersions c a == 1;
  versionAtLeast = a: c: !versionOlder a c;

  # Packages.
  callPackageWith =
    set: file: overrides:
    let
      f = if b.isFunction file then file else import file;
      arguments = b.intersectAttrs (b.functionArgs f) set // overrides;
    in
    makeOverridable f arguments;
  makeOverridable =
    f: arguments:
    let
      made = f arguments;
      more = change: makeOverridable f (arguments // (if b.isFunction change then change arguments else change));
    in
    if b.isAttrs made then made // { override = more; } else made;
  getLib = package: package.lib or package;
  getDev = package: package.dev or package;
  getBin = package: package.bin or package;
  getExe = package: "${package}/bin/${package.meta.mainProgram or package.pname or package.name}";
  getExe' = package: program: "${package}/bin/${program}";
  makeBinPath = concatMapStringsSep ":" (p: "${p}/bin");
  makeLibraryPath = concatMapStringsSep ":" (p: "${getLib p}/lib");
  licenses = {
    asl20 = { spdxId = "Apache-2.0"; };
    unfreeRedistributable = { free = false; };
  };
  platforms.linux = [ "x86_64-linux" ];
  sourceTypes.binaryNativeCode = { isSource = false; };
}
