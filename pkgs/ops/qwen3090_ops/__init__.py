"""What vLLM loads of ours: kernels, backends and controllers, registered through its plugin API."""
