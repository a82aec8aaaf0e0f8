"""The click layer: one module a command, no logic beyond reading options and printing."""
