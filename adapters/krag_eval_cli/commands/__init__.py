"""The commands of the library: each module has the function of its name."""
