"""What follows from results: comparison, gate, funnel, number of questions, leaderboard and verification."""
