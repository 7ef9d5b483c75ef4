"""Pure mathematics on arrays: nothing here reads a file, moves a tensor between devices or changes an argument."""
