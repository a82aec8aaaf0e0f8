VLLM_API_KEY="$(cat /run/key)" env \
  DO_NOT_TRACK=1 \
  HF_HUB_OFFLINE=1 \
  TORCHDYNAMO_DISABLE=1 \
  VLLM_NO_USAGE_STATS=1 \
  VLLM_PLUGINS=qwen3090 \
  VLLM_USE_V2_MODEL_RUNNER=0 \
  python -m vllm.entrypoints.openai.api_server \
  --model /models/target \
  --served-model-name qwen3.8-27b \
  --host 127.0.0.1 \
  --port 18020 \
  --api-server-count 1 \
  --dtype bfloat16 \
  --max-model-len 2048 \
  --max-num-seqs 4 \
  --max-num-batched-tokens 2048 \
  --gpu-memory-utilization 0.93 \
  --kv-cache-memory-bytes 1073741824 \
  --kv-cache-dtype bfloat16 \
  --mamba-ssm-cache-dtype float32 \
  --no-enable-prefix-caching \
  --no-async-scheduling \
  --language-model-only \
  --enforce-eager \
  --speculative-config '{"method":"mtp","num_speculative_tokens":3,"draft_sample_method":"greedy","rejection_sample_method":"standard"}' \
  --worker-extension-cls qwen3090_ops.live.extension.ReportExtension \
  --middleware qwen3090_ops.live.middleware.EngineReport \
  --reasoning-parser qwen3 \
  --enable-auto-tool-choice \
  --tool-call-parser qwen3_coder \
  --override-generation-config '{"temperature":0.0}' \
  --disable-access-log-for-endpoints /health \
  --shutdown-timeout 30 \
  --additional-config '{"qwen3090":{"mtp_draft_vocab":true}}'
