"""Find probably wrong gold labels from several runs, and apply corrected ones."""
