"""One model of a table, and lines of CSV that spreadsheets show as they are."""
