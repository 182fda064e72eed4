"""Small helpers for arguments, integers and sums, which know nothing of graphs."""
