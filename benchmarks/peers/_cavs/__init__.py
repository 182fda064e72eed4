"""What a user of this project writes: a module for each model, and `_pipeline.py` for all.

`Model(units, w, options)` is made of weights by name; `batches(examples, size)` gives
minibatches with their schedules. Where every vertex has a label, the output layer is a part of
the vertex function, and `Model.pushes_logits` is true. Where a model is more than one
`GraphSupport`, `run(model, inputs, embedding)` computes what the output layer reads.
"""
