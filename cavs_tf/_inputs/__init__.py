"""The arguments of a call: inputs, features, edges, initial states and variables."""
