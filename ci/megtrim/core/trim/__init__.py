"""What is kept: builds, runs that record, the keep set, and the stages that trim."""
