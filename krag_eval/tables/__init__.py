"""One model of a table, and how it is written: HTML for notebooks, Markdown, LaTeX and CSV."""
