"""What users hand in, read into columns: documents of any framework, texts, tokens and vectors."""
