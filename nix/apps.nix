# One app `serve-PROFILE` for each profile that a GPU serves, and one for each other command worth
# naming. A command that the CLI does not have yet gets no app.
{ pkgs, packages }:
let
  inherit (pkgs) lib;
  inherit (lib.importTOML ../cli/qwen3090/profiles.toml) profile;
  onGpu = lib.filterAttrs (_: p: p.device or "cuda" == "cuda") profile;
  described = text: program: {
    type = "app";
    inherit program;
    meta.description = text;
  };
  run =
    package: name: words: text:
    described text (
      lib.getExe (
        pkgs.writeShellScriptBin name ''exec ${lib.getExe package} ${lib.escapeShellArgs words} "$@"''
      )
    );
  serve =
    name: p:
    lib.nameValuePair "serve-${name}" (
      run packages.qwen3090 "serve-${name}" [
        "up"
        name
      ] p.summary
    );
  # The command group's own table says which commands exist.
  main = builtins.readFile ../cli/qwen3090/main.py;
  exists = command: lib.hasInfix ''"${command}":'' main;
  commands = lib.filterAttrs (name: _: exists name) {
    bench = "Measure a running server";
    doctor = "Look for what is wrong with this machine";
    plan = "Compute the memory a profile needs";
    prepare = "Quantize head, embedding and MTP module of a checkpoint";
    verify = "Prove that this installation is what it should be";
  };
  # The plan needs no engine, so it costs no download of one.
  packageOf = name: if name == "plan" then packages.qwen3090-cli else packages.qwen3090;
in
lib.mapAttrs' serve onGpu
// lib.mapAttrs (name: run (packageOf name) name [ name ]) commands
// {
  default = described "The command qwen3090" (lib.getExe packages.qwen3090);
  # The package is the script itself, not a folder with bin/.
  container = described "Write the OCI image to standard output, for docker load" "${packages.container}";
  demo = run packages.qwen3090-cpu "demo" [
    "demo"
  ] "Make, prepare, serve and ask a tiny checkpoint on the CPU";
}
