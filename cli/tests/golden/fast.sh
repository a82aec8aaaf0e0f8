env \
  DO_NOT_TRACK=1 \
  FLASHINFER_DISABLE_VERSION_CHECK=1 \
  HF_HUB_OFFLINE=1 \
  PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True \
  QWEN3090_API='{"keys":"/run/key","served_name":"qwen3.8-27b","max_body_bytes":8388608,"max_json_depth":64,"max_grammar_repeats":4000,"keep_alive_interval":15.0,"request_log":true,"speculation":true}' \
  VLLM_NO_USAGE_STATS=1 \
  VLLM_PLUGINS=qwen3090 \
  VLLM_USE_FLASHINFER_SAMPLER=0 \
  VLLM_USE_V2_MODEL_RUNNER=1 \
  python -m vllm.entrypoints.cli.main serve /models/target \
  --served-model-name qwen3.8-27b \
  --host 127.0.0.1 \
  --port 18020 \
  --api-server-count 1 \
  --dtype bfloat16 \
  --max-model-len 65536 \
  --max-num-seqs 8 \
  --max-num-batched-tokens 2048 \
  --gpu-memory-utilization 0.93 \
  --kv-cache-memory-bytes 5583457484 \
  --kv-cache-dtype bfloat16 \
  --attention-backend FLASH_ATTN \
  --mamba-ssm-cache-dtype float16 \
  --enable-prefix-caching \
  --mamba-cache-mode align \
  --async-scheduling \
  --language-model-only \
  --compilation-config '{"max_cudagraph_capture_size":64}' \
  --speculative-config '{"method":"dflash","num_speculative_tokens":7,"draft_sample_method":"probabilistic","rejection_sample_method":"block","model":"/models/drafter","attention_backend":"FLASH_ATTN"}' \
  --worker-extension-cls qwen3090_ops.live.extension.ReportExtension \
  --middleware qwen3090_ops.live.middleware.EngineReport \
  --reasoning-parser qwen3090 \
  --enable-auto-tool-choice \
  --tool-call-parser qwen3090 \
  --enable-prompt-tokens-details \
  --disable-uvicorn-access-log \
  --scheduler-cls qwen3090_ops.scheduler.ProgressAsyncScheduler \
  --middleware qwen3090_ops.drain.Drain \
  --shutdown-timeout 10 \
  --additional-config '{"qwen3090":{"candidate_topk":"flashinfer","draft_truncation":true,"split_attention":true}}' \
  --middleware qwen3090_ops.api.middleware.Api
