# Renders the options to the one TOML file that the server reads, and has the command line check
# it in a derivation that the unit refers to: a bad combination fails the build of the system.
{
  config,
  lib,
  pkgs,
  ...
}:
let
  cfg = config.services.qwen3090;
  data = import ./data.nix;

  # Drops what nobody set: null means the profile's value, and TOML has no null.
  given =
    set:
    lib.filterAttrs (_: v: v != null && v != { } && v != [ ]) (
      lib.mapAttrs (_: v: if lib.isAttrs v && !lib.isDerivation v then given v else v) set
    );
  asText = lib.mapAttrs (_: v: if lib.isDerivation v then "${v}" else v);

  isVllm = name: lib.hasPrefix "VLLM_" name;
  or' = default: value: if value == null then default else value;
  engine = cfg.settings.engine // {
    args = or' [ ] cfg.settings.engine.args ++ cfg.extraArgs;
    env = or' { } cfg.settings.engine.env // lib.filterAttrs (name: _: isVllm name) cfg.environment;
  };

  values = asText (
    given (
      cfg.settings
      // {
        inherit (cfg) profile host port;
        inherit engine;
        warmup = if cfg.warmup then true else null;
        model = cfg.model.directory;
        # The credential's path is fixed by systemd; the key itself is read by the server.
        api_key_file =
          if cfg.apiKeyFile == null then null else "/run/credentials/qwen3090.service/api-key";
      }
    )
  );
  rendered = (pkgs.formats.toml { }).generate "qwen3090.toml" values;
in
{
  options.services.qwen3090 = {
    configFile = lib.mkOption {
      type = lib.types.package;
      internal = true;
      readOnly = true;
      description = "The checked configuration file.";
    };
    effective = lib.mkOption {
      type = lib.types.functionTo lib.types.anything;
      internal = true;
      readOnly = true;
      description = "The value of a setting: the user's, else the profile's, else the default.";
    };
  };

  config.services.qwen3090 = {
    effective =
      key:
      if cfg.settings.${key} or null != null then
        cfg.settings.${key}
      else
        data.fallback cfg.profile key;
    configFile =
      pkgs.runCommand "qwen3090.toml"
        {
          # The command line without its engine, so that a mistake shows before 8 GB are built.
          nativeBuildInputs = [ (cfg.package.cli or cfg.package) ];
          passthru = { inherit rendered; };
          QWEN3090_STATE = cfg.stateDir;
        }
        ''
          cp ${rendered} $out
          HOME=$TMPDIR qwen3090 config check --no-files $out
        '';
  };
}
