# The sandbox of our services (systemd.exec(5)), with the reason beside everything that must stay
# open. `systemd-analyze security` rates the server at 2.0 or less; checks/module.sh holds it there.
{ lib }:
let
  inHome =
    path:
    lib.any (top: path == top || lib.hasPrefix "${top}/" path) [
      "/home"
      "/root"
      "/run/user"
    ];
  common = {
    CapabilityBoundingSet = [ "" ];
    AmbientCapabilities = [ "" ];
    NoNewPrivileges = true;
    ProtectSystem = "strict";
    PrivateTmp = true;
    PrivateUsers = true;
    ProtectClock = true;
    ProtectControlGroups = true;
    ProtectHostname = true;
    ProtectKernelLogs = true;
    ProtectKernelModules = true;
    ProtectKernelTunables = true;
    ProtectProc = "invisible";
    KeyringMode = "private";
    LockPersonality = true;
    RemoveIPC = true;
    RestrictNamespaces = true;
    RestrictRealtime = true;
    RestrictSUIDSGID = true;
    SystemCallArchitectures = "native";
    SystemCallErrorNumber = "EPERM";
    DevicePolicy = "closed";
    UMask = "0077";
    # Stays off: PyTorch, Triton and libffi map memory that is writable and executable.
    MemoryDenyWriteExecute = false;
    # Not "pid": PyTorch and NVML read /proc/meminfo, /proc/cpuinfo and /proc/driver.
    ProcSubset = "all";
  };
in
{
  # Directories outside /home need nothing; inside, only they are let through.
  home =
    {
      readOnly ? [ ],
      writable ? [ ],
    }:
    {
      ProtectHome = if lib.any inHome (readOnly ++ writable) then "tmpfs" else true;
    }
    // lib.optionalAttrs (lib.any inHome readOnly) {
      BindReadOnlyPaths = lib.filter inHome readOnly;
    }
    // lib.optionalAttrs (lib.any inHome writable) {
      BindPaths = lib.filter inHome writable;
    };

  # Downloads and prepares: no devices, but the network.
  model = common // {
    PrivateDevices = true;
    RestrictAddressFamilies = [
      "AF_INET"
      "AF_INET6"
      "AF_UNIX" # the name service and the journal
    ];
    SystemCallFilter = [
      "@system-service"
      "~@privileged @resources"
    ];
  };

  server =
    { loopback }:
    common
    // {
      # Stays off: it would hide the card.
      PrivateDevices = false;
      # Read and write, no mknod. Both spellings of the driver's major number: nvidia-frontend
      # before 550.40, nvidia since.
      DeviceAllow = map (name: "${name} rw") [
        "char-nvidia"
        "char-nvidia-frontend"
        "char-nvidiactl"
        "char-nvidia-caps"
        "char-nvidia-modeset"
        "char-nvidia-uvm"
        "/dev/dxg" # the card under WSL2
      ];
      RestrictAddressFamilies = [
        "AF_INET"
        "AF_INET6"
        "AF_UNIX" # ZMQ between the engine's processes, readiness to systemd
        "AF_NETLINK" # NCCL and Gloo list the network interfaces
      ];
      SystemCallFilter = [
        "@system-service"
        "@resources" # NUMA policy, priorities and affinity of the engine's threads
        "~@privileged"
      ];
      # Pinned host memory.
      LimitMEMLOCK = "infinity";
      # A connection each for 64 seats and those that wait; vLLM raises itself to this many.
      LimitNOFILE = 65535;
    }
    # Nobody outside may speak with it, and it speaks with nobody: enforced by the kernel.
    // lib.optionalAttrs loopback {
      IPAddressAllow = [ "localhost" ];
      IPAddressDeny = [ "any" ];
    };

  # Looks at /dev and at nothing else.
  observer = common // {
    PrivateDevices = false; # it would hide what is waited for
    PrivateNetwork = true;
    RestrictAddressFamilies = [ "AF_UNIX" ];
    MemoryDenyWriteExecute = true;
    SystemCallFilter = [
      "@system-service"
      "~@privileged @resources"
    ];
  };
}
