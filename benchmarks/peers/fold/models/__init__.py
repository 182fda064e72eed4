"""The workloads, each as a user of Fold would state it, in a file of its own.

`<workload>.py` gives the root's result, `<workload>_per_vertex.py` a loss for every vertex.
A module has `block(w, units)`, the model of one example, and `loss(w, *outputs)`, computed once
after the loop. `w` holds the variables by name.
"""
