# What the command line's data files say, read once: profiles, settings, exit statuses.
# Nothing of it is repeated in Nix.
let
  toml = builtins.fromTOML (builtins.readFile ../cli/qwen3090/profiles.toml);
  schema = builtins.fromJSON (builtins.readFile ../nix/settings.json);
  onCard = name: (toml.profile.${name}.device or schema.settings.device.default) == "cuda";
in
{
  # A service is for the card; profiles for a CPU are demonstrations.
  profileNames = builtins.filter onCard (builtins.attrNames toml.profile);
  profiles = toml.profile;
  settings = schema.settings;
  leastDriver = (builtins.fromJSON (builtins.readFile ../nix/pins.json)).cuda.driver;
  permanentExitStatuses = schema.permanent_exit_statuses;

  # The value a setting has when nobody sets it: the profile's, else the default.
  fallback = profile: key: toml.profile.${profile}.${key} or schema.settings.${key}.default or null;
}
