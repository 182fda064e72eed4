"""The workloads as a user of Fold would state them; `lstm` is that of all plain sequences.

A module has `block(w, units)`, the model of one example, where `w` holds the variables by name.
`loss(w, *outputs)` is computed once, after the loop.
"""
