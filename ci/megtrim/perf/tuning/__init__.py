"""The search for the fastest flags: who takes part, how the race goes on, what it found."""
