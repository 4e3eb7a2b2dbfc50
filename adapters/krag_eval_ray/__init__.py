"""krag_eval at home in Ray Data."""
