env \
  DO_NOT_TRACK=1 \
  HF_HUB_OFFLINE=1 \
  QWEN3090_API='{"keys":"/run/key","served_name":"qwen3.8-27b","max_body_bytes":8388608,"max_json_depth":64,"max_grammar_repeats":4000,"keep_alive_interval":15.0,"request_log":true,"speculation":true}' \
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
  --reasoning-parser qwen3090 \
  --enable-auto-tool-choice \
  --tool-call-parser qwen3090 \
  --override-generation-config '{"temperature":0.0}' \
  --disable-uvicorn-access-log \
  --scheduler-cls qwen3090_ops.scheduler.ProgressScheduler \
  --middleware qwen3090_ops.drain.Drain \
  --shutdown-timeout 10 \
  --additional-config '{"qwen3090":{"mtp_draft_vocab":true}}' \
  --middleware qwen3090_ops.api.middleware.Api
