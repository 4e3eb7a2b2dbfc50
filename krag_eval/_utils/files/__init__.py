"""Read files strictly and within bounds; write them whole or not at all."""
