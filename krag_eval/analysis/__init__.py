"""What follows from results: diagnosis, comparison, gate, label audit and verification."""
