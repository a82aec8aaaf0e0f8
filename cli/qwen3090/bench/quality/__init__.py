"""``qwen3090 bench quality``: is what the server says right? Each test says how it judges."""
