"""Great-expectations suites over the data."""
