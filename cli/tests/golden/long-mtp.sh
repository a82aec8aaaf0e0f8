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
  --max-model-len 150000 \
  --max-num-seqs 8 \
  --max-num-batched-tokens 2048 \
  --gpu-memory-utilization 0.93 \
  --kv-cache-memory-bytes 6442450944 \
  --kv-cache-dtype int8_per_token_head \
  --attention-backend TRITON_ATTN \
  --mamba-ssm-cache-dtype float16 \
  --enable-prefix-caching \
  --mamba-cache-mode align \
  --async-scheduling \
  --language-model-only \
  --compilation-config '{"cudagraph_capture_sizes":[1,2,3,4,5,6,7,8,10,12,15,16,20,24,25,28,30,32]}' \
  --speculative-config '{"method":"mtp","num_speculative_tokens":4,"draft_sample_method":"probabilistic","rejection_sample_method":"block","num_speculative_tokens_per_batch_size":[[1,3,4],[4,8,3]]}' \
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
  --additional-config '{"qwen3090":{"mtp_draft_vocab":true,"draft_truncation":true,"split_attention":true}}' \
  --middleware qwen3090_ops.api.middleware.Api
