"""A real, weak language model: SmolLM2-135M-Instruct behind llama.cpp's own server. `runs` is the long measurement."""
