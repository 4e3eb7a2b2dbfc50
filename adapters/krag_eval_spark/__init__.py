"""krag_eval at home in Spark."""
