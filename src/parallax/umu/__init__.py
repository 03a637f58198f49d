"""Fine-tuned people: profiles, portraits, questions, official files, scoring (UMU-Bench)."""
