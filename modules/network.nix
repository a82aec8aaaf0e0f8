# Which addresses only this machine can reach; the same rule as the command line's.
let
  b = builtins;
in
{
  isLoopback =
    host:
    b.elem host [
      "localhost"
      "::1"
      "[::1]"
    ]
    || b.match "127\\.[0-9]{1,3}\\.[0-9]{1,3}\\.[0-9]{1,3}" host != null;
}
