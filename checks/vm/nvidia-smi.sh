# shellcheck shell=bash
# Answers like nvidia-smi on a machine with one idle RTX 3090, as far as the server asks.
case "$*" in
*--query-gpu=*) echo "NVIDIA GeForce RTX 3090, 24576, 24200" ;;
"-q -x"*) echo "<nvidia_smi_log/>" ;;
*-pl*) echo "Power limit: $*" ;;
*) echo "GPU 0: NVIDIA GeForce RTX 3090 (UUID: GPU-00000000-0000-0000-0000-000000000000)" ;;
esac
