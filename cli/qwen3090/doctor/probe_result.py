"""What the compile probes and those who start them agree on."""

WRONG_RESULT = 3  # exit status: the kernel ran and computed something else
