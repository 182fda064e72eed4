"""From Python to programs: vertex functions as graphs, what they compute, and derivatives."""
