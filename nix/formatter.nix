# nix fmt: nixfmt over the tree.
{ pkgs }: pkgs.nixfmt-tree
