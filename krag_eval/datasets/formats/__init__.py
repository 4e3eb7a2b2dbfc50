"""The file formats of evaluation sets and runs, one a module; `table` lists them."""
