# The smallest sandboxed build, new each time, to find out whether one runs on this machine at all.
{ seed }:
derivation {
  name = "sandbox";
  system = "x86_64-linux";
  builder = "/bin/sh";
  args = [
    "-c"
    "echo ${seed} > $out"
  ];
}
