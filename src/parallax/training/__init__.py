"""The only training loop, its schedules, data order and checkpoints."""
