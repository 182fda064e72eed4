"""What a call is given: inputs, features, edges, initial states and variables."""
