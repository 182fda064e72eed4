"""Finding, checking and loading the C++ libraries."""
