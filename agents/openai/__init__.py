"""Model `openai`: any server that speaks OpenAI's chat completions."""
