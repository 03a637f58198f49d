"""What a training would take, told from configurations and questions alone, without weights."""
