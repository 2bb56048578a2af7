"""The baselines that runs stored, and which one a change is compared with."""
