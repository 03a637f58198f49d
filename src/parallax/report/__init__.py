"""Tables, plots and the one-file HTML report; reads what the stages wrote, computes no score."""
