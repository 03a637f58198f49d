"""Model loading, prompts, batches and generation."""
