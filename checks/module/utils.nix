# NixOS's `utils` argument, as far as our modules use it: words quoted as systemd reads them, with
# its own expansions (% and $) switched off.
{
  escapeSystemdExecArgs =
    words:
    builtins.concatStringsSep " " (
      map (
        word: builtins.replaceStrings [ "%" "$" ] [ "%%" "$$" ] (builtins.toJSON (toString word))
      ) words
    );
}
