"""What follows from results: comparison, gate, funnel, number of questions and exact search."""
