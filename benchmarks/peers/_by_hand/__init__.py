"""Forward and backward passes written by hand in PyTorch: a module for each cell.

Each has `plan(minibatch)`, `forward(w, plan)`, which returns (h of the labelled rows, what
the backward pass reads), and `backward(w, plan, kept, dh)`, which returns the gradients by
the cell's weights and by the rows of the embedding. Weight gradients are deferred: one
product over the rows of all levels.
"""
