"""One thin module per DVC stage: parse, call, write."""
