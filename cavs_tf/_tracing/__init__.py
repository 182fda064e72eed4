"""From Python to programs: vertex functions as graphs, their analysis, and derivatives."""
