"""Small helpers for arguments, integers and sums, which do not know graphs."""
