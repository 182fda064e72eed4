"""TensorFlow Fold's dynamic batching, reimplemented for TensorFlow 2; see README.md.

Source: Looks et al. 2017, "Deep Learning with Dynamic Computation Graphs", arXiv:1702.02181:
section 2 for the batching, section 3 for the language of blocks.
"""
