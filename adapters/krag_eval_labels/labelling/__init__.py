"""Label a queue: in the terminal, on a page, in a spreadsheet or in another program, alone or with others."""
