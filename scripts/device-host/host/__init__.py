"""A device host: its desired state, the machine's actual state, and the plan between them."""
